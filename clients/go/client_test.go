package toolcrib

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// mock starts a sidecar that breaks the contract on demand.
func mock(t *testing.T, options Options) *Client {
	t.Helper()
	client, err := spawnMock(t, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func spawnMock(t *testing.T, options Options) (*Client, error) {
	t.Helper()
	binary, err := filepath.Abs("../testing/mock_sidecar.py")
	if err != nil {
		t.Fatal(err)
	}
	options.Binary = binary
	options.Logger = slog.New(slog.DiscardHandler)
	return Spawn(limit(t), options)
}

// limit ends whatever a test waits for.
func limit(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(stop)
	return ctx
}

func result(t *testing.T, client *Client, name string, arguments any) string {
	t.Helper()
	answer, err := client.Dispatch(limit(t), &DispatchParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	call, ok := answer.Value.(*CallResult)
	if !ok {
		t.Fatalf("%T", answer.Value)
	}
	return call.Content
}

func TestCallsGiveTypedAnswers(t *testing.T) {
	client := mock(t, Options{})
	if client.Info().ServerInfo.Name != "toolcrib" {
		t.Error(client.Info())
	}
	status, err := client.Status(limit(t), nil)
	if err != nil || status.Catalog.Tools != 1 {
		t.Error(status, err)
	}
	assembly, err := client.AssembleTools(limit(t), &AssembleToolsParams{ContextLength: Ptr(uint64(1000))})
	if err != nil || len(assembly.Tools) != 1 || *assembly.Decision.ContextLength != 1000 {
		t.Error(assembly, err)
	}
	again, err := client.AssembleTools(limit(t), &AssembleToolsParams{KnownDigest: &assembly.Digest})
	if err != nil || !again.Unchanged || again.Tools != nil {
		t.Error(again, err)
	}
}

func TestLongIntegersAndOddTextSurvive(t *testing.T) {
	client := mock(t, Options{})
	arguments := json.RawMessage(`{"n":9007199254740993,"text":"<é🙂>"}`)
	if got := result(t, client, "echo", arguments); got != `{"result": {"n": 9007199254740993, "text": "<é🙂>"}}` {
		t.Error(got)
	}
}

func TestManyCallsAtOnceAreNotMixedUp(t *testing.T) {
	client := mock(t, Options{})
	var group sync.WaitGroup
	for n := 1; n <= 50; n++ {
		group.Add(1)
		go func() {
			defer group.Done()
			want, _ := json.Marshal(map[string]any{"result": n})
			got, err := client.Dispatch(limit(t), &DispatchParams{Name: "echo", Arguments: n})
			if err != nil {
				t.Error(err)
				return
			}
			call := got.Value.(*CallResult)
			if strings.ReplaceAll(call.Content, " ", "") != string(want) {
				t.Error(call.Content, string(want))
			}
		}()
	}
	group.Wait()
}

func TestProgressComesInOrderBeforeTheAnswer(t *testing.T) {
	var seen []float64
	client := mock(t, Options{OnNotification: func(n Notification) {
		if progress, ok := n.(*ProgressNotification); ok {
			seen = append(seen, progress.Progress)
		}
	}})
	listener := client.Listen()
	result(t, client, "steps", nil)
	if len(seen) != 3 || seen[0] != 1 || seen[2] != 3 {
		t.Error(seen)
	}
	client.Close()
	count := 0
	for range listener.All(limit(t)) {
		count++
	}
	if count != 3 {
		t.Error(count)
	}
}

type approver struct {
	NoHandlers

	withdrawn chan struct{}
}

func (a approver) Approve(ctx context.Context, params *ApproveParams) (*ApproveResult, error) {
	if params.Reason == "wait" {
		<-ctx.Done()
		close(a.withdrawn)
		return nil, ctx.Err()
	}
	if params.Reason == "panic" {
		panic("no")
	}
	return &ApproveResult{Decision: ApprovalDecisionAllow}, nil
}

func TestHandlersAnswerAndCanBeCancelled(t *testing.T) {
	handlers := approver{withdrawn: make(chan struct{})}
	client := mock(t, Options{Handlers: handlers, Capabilities: HostCapabilities{Approval: Ptr(true)}})
	question := func(method, reason string) map[string]any {
		tool := ToolRef{Name: "x", Source: ToolSourceMCP}
		params := ApproveParams{Tool: tool, Arguments: json.RawMessage("{}"), Reason: reason}
		return map[string]any{"method": method, "params": params}
	}
	for _, test := range []struct{ tool, method, reason, want string }{
		{"ask", "approve", "", `{"result": {"result": {"decision": "allow"}}}`},
		{"ask", "approve", "panic", `{"result": {"error": {"code": -32603, "message": "the handler of approve failed"}}}`},
		{"ask", "elicit", "", `{"result": {"error": {"code": -32601, "message": "not supported"}}}`},
		{"ask", "newer", "", `{"result": {"error": {"code": -32601, "message": "not supported"}}}`},
		{"withdraw", "approve", "wait", `{"result": {"error": {"code": -32800, "message": "cancelled"}}}`},
	} {
		if got := result(t, client, test.tool, question(test.method, test.reason)); got != test.want {
			t.Error(test, got)
		}
	}
	select {
	case <-handlers.withdrawn:
	case <-limit(t).Done():
		t.Error("the handler was not cancelled")
	}
}

func TestHandlersMustBeAnnounced(t *testing.T) {
	if _, err := spawnMock(t, Options{Handlers: approver{}}); err == nil {
		t.Error("no error")
	}
	if _, err := spawnMock(t, Options{Capabilities: HostCapabilities{Approval: Ptr(true)}}); err == nil {
		t.Error("no error")
	}
}

func TestEndOfTheContextCancelsTheCall(t *testing.T) {
	client := mock(t, Options{})
	ctx, cancel := context.WithCancel(limit(t))
	listener := client.Listen()
	go func() {
		<-listener.C() // The first progress: the call is running.
		cancel()
	}()
	if _, err := client.Dispatch(ctx, &DispatchParams{Name: "slow"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// The cancel is sent by a goroutine, and so may come after this question.
	patience := limit(t)
	for got := ""; got != `{"result": [2]}`; got = result(t, client, "cancels", nil) {
		if patience.Err() != nil {
			t.Fatal(got)
		}
	}
	if _, err := client.Status(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestErrorsAreTyped(t *testing.T) {
	client := mock(t, Options{})
	_, err := client.Reload(limit(t), nil)
	var failure *Error
	if !errors.As(err, &failure) || failure.Kind() != "configInvalid" || failure.Data.Problems[0].Range.End.Character != 5 {
		t.Error(err)
	}
	if !errors.Is(err, &Error{Code: CodeRequestFailed}) || errors.Is(err, &Error{Code: CodeOverloaded}) {
		t.Error(err)
	}
	var protocol *ProtocolError
	if _, err := client.Dispatch(limit(t), &DispatchParams{Name: "deaf"}); !errors.As(err, &protocol) {
		t.Error(err)
	}
}

func TestWhatANewerSidecarSendsIsKept(t *testing.T) {
	client := mock(t, Options{})
	listener := client.Listen()
	answer, err := client.Dispatch(limit(t), &DispatchParams{Name: "later"})
	if err != nil {
		t.Fatal(err)
	}
	unknown, ok := answer.Value.(*DispatchResultUnknown)
	if !ok || unknown.Kind != "later" || !strings.Contains(string(unknown.Raw), "9007199254740993") {
		t.Error(answer)
	}
	result(t, client, "garbage", nil)
	if notification, ok := (<-listener.C()).(*UnknownNotification); !ok || notification.Method() != "newerThanYou" {
		t.Error(notification)
	}
}

func TestDeathFailsEveryOpenCallAtOnce(t *testing.T) {
	client := mock(t, Options{})
	slow := make(chan error)
	listener := client.Listen()
	go func() {
		_, err := client.Dispatch(limit(t), &DispatchParams{Name: "slow"})
		slow <- err
	}()
	<-listener.C()
	started := time.Now()
	_, err := client.Dispatch(limit(t), &DispatchParams{Name: "die"})
	for _, err := range []error{err, <-slow} {
		var closed *ClosedError
		if !errors.Is(err, ErrClosed) || !errors.As(err, &closed) || closed.ExitStatus != 7 {
			t.Error(err)
		}
	}
	if took := time.Since(started); took > time.Second {
		t.Error(took)
	}
	if _, err := client.Status(limit(t), nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, open := <-listener.C(); open {
		t.Error("the listener goes on")
	}
	<-client.Done()
}

func TestOtherProtocolVersionIsNamed(t *testing.T) {
	_, err := spawnMock(t, Options{Env: append(os.Environ(), "MOCK_PROTOCOL=2")})
	var mismatch *VersionError
	if !errors.As(err, &mismatch) || mismatch.Client != 1 || mismatch.Sidecar != 2 {
		t.Error(err)
	}
}

func TestStubbornSidecarIsKilled(t *testing.T) {
	client := mock(t, Options{Env: append(os.Environ(), "MOCK_STUBBORN=1"), CloseTimeout: 50 * time.Millisecond})
	client.Close()
	if client.command.ProcessState == nil {
		t.Error("it lives")
	}
}

func TestMissingBinaryIsExplained(t *testing.T) {
	t.Setenv("TOOLCRIB_BINARY", "")
	t.Setenv("PATH", t.TempDir())
	if _, err := FindBinary(""); !errors.Is(err, ErrBinaryNotFound) || !strings.Contains(err.Error(), "TOOLCRIB_BINARY") {
		t.Error(err)
	}
	if _, err := FindBinary("/nowhere/toolcrib"); !errors.Is(err, ErrBinaryNotFound) {
		t.Error(err)
	}
	t.Setenv("TOOLCRIB_BINARY", os.Args[0])
	if found, err := FindBinary(""); err != nil || found != os.Args[0] {
		t.Error(found, err)
	}
}
