package toolcrib

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Options say which sidecar to start and how. The zero value is useful.
type Options struct {
	// Config is the configuration; the sidecar looks for one where it is nil.
	Config *ConfigSource

	// Handlers are what the sidecar may ask; Capabilities says which of them there are.
	Handlers Handlers

	// Capabilities are announced to the sidecar, with progress unless it says otherwise.
	Capabilities HostCapabilities

	// OnNotification is called with each notification, before the answers that were sent after
	// it. It must not wait for an answer: nothing is read meanwhile.
	OnNotification func(Notification)

	// Binary is the program; else TOOLCRIB_BINARY, else toolcrib on the PATH.
	Binary string

	// Args are more arguments for the program.
	Args []string

	// Env is the environment of the program; that of this process where it is nil.
	Env []string

	// Dir is the folder that the program works in.
	Dir string

	// Stderr is where the program's warnings go; to os.Stderr where it is nil.
	Stderr io.Writer

	// ClientInfo is name and version of the host, for logs.
	ClientInfo *Implementation

	// Roots are folders that servers may ask for.
	Roots []Root

	// OptOutNotifications are methods of notifications that are not wanted.
	OptOutNotifications []string

	// CloseTimeout is how long Close waits before it takes the next harder step; 5 s where it is 0.
	CloseTimeout time.Duration

	// Logger takes what cannot be told otherwise; slog's default where it is nil.
	Logger *slog.Logger
}

// ConfigFile is a configuration in a file.
func ConfigFile(path string) *ConfigSource {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return &ConfigSource{Path: &path}
}

// Ptr returns a pointer to a value, for optional fields.
func Ptr[T any](value T) *T { return &value }

// Client is a sidecar of your own.
type Client struct {
	command *exec.Cmd
	stdin   *os.File
	reader  *reader
	options Options
	logger  *slog.Logger
	info    InitializeResult

	// writing holds one token; who has it may write.
	writing chan struct{}

	mutex     sync.Mutex
	lastID    uint64
	calls     map[uint64]chan<- outcome
	questions map[string]context.CancelFunc
	listeners map[*Listener]struct{}
	closing   bool

	// lost is closed when the sidecar is gone; why says why.
	lost chan struct{}
	why  error

	// exited is closed when the process has ended.
	exited    chan struct{}
	closeOnce sync.Once
}

// outcome is the answer to a call.
type outcome struct {
	result json.RawMessage
	err    error
}

// Spawn starts a sidecar and introduces the host to it. The context is for the start alone.
//
// The errors are ErrBinaryNotFound, *VersionError, or an *Error of kind configNotFound. What is
// wrong in a configuration is in Info().Problems.
func Spawn(ctx context.Context, options Options) (*Client, error) {
	if options.Handlers != nil && !announcesAny(options.Capabilities) {
		return nil, errors.New("there are handlers, but Options.Capabilities announces none of them")
	}
	if options.Handlers == nil {
		if announcesAny(options.Capabilities) {
			return nil, errors.New("Options.Capabilities announces handlers, but there are none")
		}
		options.Handlers = NoHandlers{}
	}
	if options.CloseTimeout == 0 {
		options.CloseTimeout = 5 * time.Second
	}
	binary, err := FindBinary(options.Binary)
	if err != nil {
		return nil, err
	}
	c := &Client{
		command:   exec.Command(binary, append([]string{"serve"}, options.Args...)...),
		options:   options,
		logger:    options.Logger,
		calls:     make(map[uint64]chan<- outcome),
		questions: make(map[string]context.CancelFunc),
		listeners: make(map[*Listener]struct{}),
		writing:   make(chan struct{}, 1),
		lost:      make(chan struct{}),
		exited:    make(chan struct{}),
	}
	if c.logger == nil {
		c.logger = slog.Default()
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	if err := c.introduce(ctx, binary); err != nil {
		c.end(time.Second)
		return nil, err
	}
	return c, nil
}

func announcesAny(capabilities HostCapabilities) bool {
	is := func(flag *bool) bool { return flag != nil && *flag }
	return is(capabilities.Approval) || is(capabilities.Sampling) || is(capabilities.OpenURL) || capabilities.Elicitation != nil
}

func (c *Client) start() error {
	c.command.Env = c.options.Env
	c.command.Dir = c.options.Dir
	c.command.Stderr = c.options.Stderr
	if c.command.Stderr == nil {
		c.command.Stderr = os.Stderr
	}
	// A writer that is no file is fed by a goroutine of exec, which must not outlive the process.
	c.command.WaitDelay = time.Second
	detach(c.command)
	// The command's own pipes would be closed at the exit, with the last words still in them.
	sidecarStdin, stdin, err := os.Pipe()
	if err != nil {
		return err
	}
	stdout, sidecarStdout, err := os.Pipe()
	if err != nil {
		return errors.Join(err, sidecarStdin.Close(), stdin.Close())
	}
	c.stdin = stdin
	c.command.Stdin = sidecarStdin
	c.command.Stdout = sidecarStdout
	err = c.command.Start()
	sidecarStdin.Close()
	sidecarStdout.Close()
	if err != nil {
		stdout.Close()
		stdin.Close()
		return fmt.Errorf("the sidecar could not be started: %w", err)
	}
	c.reader = newReader(stdout)
	go c.readInBackground()
	go func() {
		// The process is what counts: somebody else may hold its stdout open.
		c.command.Wait()
		close(c.exited)
		select {
		case <-c.reader.ended:
		case <-time.After(200 * time.Millisecond):
		}
		state := c.command.ProcessState
		c.lose(&ClosedError{How: "the sidecar has ended: " + state.String(), ExitStatus: state.ExitCode()})
		stdout.Close()
	}()
	go func() {
		<-c.reader.ended
		select {
		case <-c.exited:
		case <-time.After(time.Second):
			c.lose(&ClosedError{How: "the sidecar has closed its end", ExitStatus: -1})
		}
	}()
	return nil
}

func (c *Client) introduce(ctx context.Context, binary string) error {
	capabilities := c.options.Capabilities
	if capabilities.Progress == nil {
		capabilities.Progress = Ptr(true)
	}
	result, err := c.call(ctx, "initialize", &InitializeParams{
		ProtocolVersion:     ProtocolVersion,
		ClientInfo:          c.options.ClientInfo,
		Capabilities:        &capabilities,
		Roots:               c.options.Roots,
		OptOutNotifications: c.options.OptOutNotifications,
		Config:              c.options.Config,
	})
	if err != nil {
		return err
	}
	// Another revision may look different, so its number is read before all else.
	var spoken struct {
		ProtocolVersion int `json:"protocolVersion"`

		ServerInfo struct {
			Version string `json:"version"`
		} `json:"serverInfo"`
	}
	if err := json.Unmarshal(result, &spoken); err != nil {
		return &ProtocolError{"the answer to initialize is not of the contract", err}
	}
	if spoken.ProtocolVersion != ProtocolVersion {
		return &VersionError{ProtocolVersion, spoken.ProtocolVersion, binary, spoken.ServerInfo.Version}
	}
	return json.Unmarshal(result, &c.info)
}

// Info is what the sidecar said of itself.
func (c *Client) Info() InitializeResult { return c.info }

// PID is the process id of the sidecar.
func (c *Client) PID() int { return c.command.Process.Pid }

// Done is closed when the sidecar is gone.
func (c *Client) Done() <-chan struct{} { return c.lost }

// Close ends the sidecar and waits for it; open calls fail with ErrClosed. It may be called more
// than once.
func (c *Client) Close() error {
	c.closeOnce.Do(func() {
		ctx, stop := context.WithTimeout(context.Background(), c.options.CloseTimeout)
		defer stop()
		if _, err := c.call(ctx, "shutdown", nil); err == nil {
			c.send(ctx, message{Method: "exit"})
		}
		c.end(c.options.CloseTimeout)
	})
	<-c.exited
	return nil
}

// end closes the sidecar's stdin, which ends it, and kills it if it does not end.
func (c *Client) end(timeout time.Duration) {
	c.lose(&ClosedError{How: "the client is closed", ExitStatus: -1})
	c.stdin.Close()
	for _, step := range []func() error{
		func() error { return nil },
		func() error { return terminate(c.command.Process) },
		c.command.Process.Kill,
	} {
		step()
		select {
		case <-c.exited:
			return
		case <-time.After(timeout):
		}
	}
}

// request asks and reads the answer.
func request[Params, Result any](ctx context.Context, c *Client, method string, params *Params) (*Result, error) {
	if params == nil {
		params = new(Params)
	}
	data, err := c.call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	result := new(Result)
	if err := json.Unmarshal(data, result); err != nil {
		return nil, &ProtocolError{"the answer to " + method + " is not of the contract", err}
	}
	return result, nil
}

func (c *Client) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer := make(chan outcome, 1)
	c.mutex.Lock()
	c.lastID++
	id := c.lastID
	c.calls[id] = answer
	c.mutex.Unlock()
	defer func() {
		c.mutex.Lock()
		delete(c.calls, id)
		c.mutex.Unlock()
	}()

	rawID := json.RawMessage(strconv.FormatUint(id, 10))
	if err := c.send(ctx, message{ID: rawID, Method: method, Params: params}); err != nil {
		return nil, err
	}
	for {
		select {
		case outcome := <-answer:
			return outcome.result, outcome.err
		case <-c.lost:
			// The answer may have come with the end.
			select {
			case outcome := <-answer:
				return outcome.result, outcome.err
			default:
				return nil, c.why
			}
		case <-ctx.Done():
			// Sent by a goroutine, so that a sidecar that does not read cannot hold this up.
			go c.send(context.Background(), message{Method: "$/cancelRequest", Params: map[string]json.RawMessage{"id": rawID}})
			return nil, ctx.Err()
		case <-c.reader.token:
			c.lead(ctx, func() bool { return len(answer) > 0 })
		}
	}
}

// send writes a message, or nothing of it: what the context cuts off in the middle ends the client.
func (c *Client) send(ctx context.Context, m message) error {
	line, err := encode(m)
	if err != nil {
		return err
	}
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return ctx.Err()
	case <-c.lost:
	}
	if c.isLost() {
		return c.why
	}
	if ctx.Done() != nil {
		expired := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			c.stdin.SetWriteDeadline(time.Unix(1, 0))
			close(expired)
		})
		defer func() {
			if !stop() {
				<-expired
				c.stdin.SetWriteDeadline(time.Time{})
			}
		}()
	}
	written, err := c.stdin.Write(line)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if written > 0 {
			c.lose(&ClosedError{How: "a message to the sidecar was cut off", ExitStatus: -1})
		}
		return ctx.Err()
	}
	// A broken pipe shows in the exit as well, which tells more.
	return nil
}

func (c *Client) isLost() bool {
	select {
	case <-c.lost:
		return true
	default:
		return false
	}
}

// received says whether the line was an answer.
func (c *Client) received(line []byte) bool {
	if len(bytes.TrimSpace(line)) == 0 {
		return false
	}
	var m received
	if err := json.Unmarshal(line, &m); err != nil {
		c.logger.Warn("a line of the sidecar is not a message", "error", err)
		return false
	}
	hasID := len(m.ID) > 0 && !bytes.Equal(m.ID, []byte("null"))
	switch {
	case m.Method == nil:
		c.answered(&m, hasID)
	case hasID:
		c.asked(string(m.ID), *m.Method, m.Params)
	case *m.Method == "$/cancelRequest":
		var params struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal(m.Params, &params) == nil {
			c.noLongerAsked(string(params.ID))
		}
	default:
		c.told(*m.Method, m.Params)
	}
	return m.Method == nil
}

func (c *Client) answered(m *received, hasID bool) {
	if !hasID {
		if m.Error != nil {
			// It could not read what we sent, and cannot say which call that was.
			c.failCalls(&ProtocolError{"the sidecar answered nobody", m.Error.err()})
		}
		return
	}
	id, err := strconv.ParseUint(string(m.ID), 10, 64)
	if err != nil {
		return
	}
	c.mutex.Lock()
	call := c.calls[id]
	delete(c.calls, id)
	c.mutex.Unlock()
	switch {
	case call == nil:
	case m.Error != nil:
		call <- outcome{err: m.Error.err()}
	default:
		call <- outcome{result: m.Result}
	}
}

func (c *Client) asked(id, method string, params json.RawMessage) {
	ctx, cancel := context.WithCancel(context.Background())
	c.mutex.Lock()
	c.questions[id] = cancel
	c.mutex.Unlock()
	go func() {
		defer cancel()
		reply := message{ID: json.RawMessage(id)}
		result, err := c.handle(ctx, method, params)
		if err == nil {
			reply.Result, err = marshal(result)
		}
		if err != nil {
			reply.Error = refusal(err)
		}
		if c.takeQuestion(id) != nil {
			c.send(context.Background(), reply)
		}
	}()
}

// handle asks the handler, and survives it.
func (c *Client) handle(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.logger.Error("a handler panicked", "method", method, "panic", panicked)
			result, err = nil, fmt.Errorf("the handler of %s failed", method)
		}
	}()
	return handle(ctx, c.options.Handlers, method, params)
}

// answer reads the params and asks one handler.
func answer[Params, Result any](ctx context.Context, data json.RawMessage, handler func(context.Context, *Params) (Result, error)) (any, error) {
	params := new(Params)
	if err := json.Unmarshal(data, params); err != nil {
		return nil, &Error{Code: CodeInvalidParams, Message: err.Error()}
	}
	return handler(ctx, params)
}

func (c *Client) noLongerAsked(id string) {
	if cancel := c.takeQuestion(id); cancel != nil {
		cancel()
		go c.send(context.Background(), message{ID: json.RawMessage(id), Error: &wireError{Code: CodeCancelled, Message: "cancelled"}})
	}
}

// takeQuestion returns nil where the question was taken before.
func (c *Client) takeQuestion(id string) context.CancelFunc {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	cancel := c.questions[id]
	delete(c.questions, id)
	return cancel
}

func (c *Client) told(method string, params json.RawMessage) {
	notification := newNotification(method)
	if notification == nil {
		notification = &UnknownNotification{Name: method, Params: params}
	} else if err := json.Unmarshal(params, notification); err != nil {
		c.logger.Warn("a notification is not of the contract", "method", method, "error", err)
		return
	}
	c.mutex.Lock()
	for listener := range c.listeners {
		listener.offer(notification)
	}
	c.mutex.Unlock()
	if c.options.OnNotification != nil {
		c.options.OnNotification(notification)
	}
}

// lose makes every open call fail, and every later one.
func (c *Client) lose(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closing {
		return
	}
	c.closing = true
	c.why = err
	close(c.lost)
	c.reader.interrupt()
	for _, cancel := range c.questions {
		cancel()
	}
	clear(c.questions)
	for listener := range c.listeners {
		listener.end()
	}
	clear(c.listeners)
}

func (c *Client) failCalls(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, call := range c.calls {
		call <- outcome{err: err}
	}
	clear(c.calls)
}
