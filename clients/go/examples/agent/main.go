// Command agent is a whole agent: a model with the tools of many MCP servers, and one tool of its own.
//
//	agent -api openai -config toolcrib.yaml "What is on my calendar?"
//
// The key is read from OPENAI_API_KEY or ANTHROPIC_API_KEY; OPENAI_BASE_URL and ANTHROPIC_BASE_URL
// lead to other endpoints that speak the same.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	toolcrib "github.com/toolcrib/toolcrib/clients/go"
)

var clock = toolcrib.HostTool{
	Name:        "current_time",
	Description: toolcrib.Ptr("Tells the date and time."),
	Parameters:  map[string]any{"type": "object"},
}

type toolCall struct {
	id, name string

	arguments any
}

type toolAnswer struct {
	call toolCall

	content string

	isError bool
}

type model interface {
	format() toolcrib.Format

	// ask returns what the model says, and which tools it calls.
	ask(ctx context.Context, tools []json.RawMessage) (string, []toolCall, error)

	tell(answers []toolAnswer)
}

// openAI speaks chat completions, as many endpoints do.
type openAI struct {
	name string

	messages []any
}

func (m *openAI) format() toolcrib.Format { return toolcrib.FormatOpenAI }

func (m *openAI) ask(ctx context.Context, tools []json.RawMessage) (string, []toolCall, error) {
	var answer struct {
		Choices []struct{ Message json.RawMessage }
	}
	url := cmp.Or(os.Getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1") + "/chat/completions"
	headers := map[string]string{"Authorization": "Bearer " + os.Getenv("OPENAI_API_KEY")}
	body := map[string]any{"model": m.name, "messages": m.messages, "tools": tools}
	if err := post(ctx, url, headers, body, &answer); err != nil {
		return "", nil, err
	}
	var message struct {
		Content string

		ToolCalls []struct {
			ID string

			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if len(answer.Choices) == 0 {
		return "", nil, fmt.Errorf("an answer without choices")
	}
	if err := json.Unmarshal(answer.Choices[0].Message, &message); err != nil {
		return "", nil, err
	}
	m.messages = append(m.messages, answer.Choices[0].Message)
	var calls []toolCall
	for _, it := range message.ToolCalls {
		calls = append(calls, toolCall{it.ID, it.Function.Name, it.Function.Arguments})
	}
	return message.Content, calls, nil
}

func (m *openAI) tell(answers []toolAnswer) {
	for _, it := range answers {
		m.messages = append(m.messages, map[string]any{"role": "tool", "tool_call_id": it.call.id, "content": it.content})
	}
}

// anthropic speaks messages.
type anthropic struct {
	name string

	messages []any
}

func (m *anthropic) format() toolcrib.Format { return toolcrib.FormatAnthropic }

func (m *anthropic) ask(ctx context.Context, tools []json.RawMessage) (string, []toolCall, error) {
	var answer struct{ Content []json.RawMessage }
	url := cmp.Or(os.Getenv("ANTHROPIC_BASE_URL"), "https://api.anthropic.com") + "/v1/messages"
	headers := map[string]string{"x-api-key": os.Getenv("ANTHROPIC_API_KEY"), "anthropic-version": "2023-06-01"}
	body := map[string]any{"model": m.name, "max_tokens": 4096, "messages": m.messages, "tools": tools}
	if err := post(ctx, url, headers, body, &answer); err != nil {
		return "", nil, err
	}
	m.messages = append(m.messages, map[string]any{"role": "assistant", "content": answer.Content})
	var text strings.Builder
	var calls []toolCall
	for _, data := range answer.Content {
		var block struct {
			Type, Text, ID, Name string

			Input json.RawMessage
		}
		if err := json.Unmarshal(data, &block); err != nil {
			return "", nil, err
		}
		text.WriteString(block.Text)
		if block.Type == "tool_use" {
			calls = append(calls, toolCall{block.ID, block.Name, block.Input})
		}
	}
	return text.String(), calls, nil
}

func (m *anthropic) tell(answers []toolAnswer) {
	var blocks []any
	for _, it := range answers {
		blocks = append(blocks, map[string]any{
			"type": "tool_result", "tool_use_id": it.call.id, "content": it.content, "is_error": it.isError,
		})
	}
	m.messages = append(m.messages, map[string]any{"role": "user", "content": blocks})
}

func post(ctx context.Context, url string, headers map[string]string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

type agent struct {
	toolcrib.NoHandlers

	client *toolcrib.Client

	model model

	contextLength uint64

	askFirst bool

	terminal sync.Mutex

	input *bufio.Reader
}

func (a *agent) run(ctx context.Context) (string, error) {
	var tools []json.RawMessage
	params := toolcrib.AssembleToolsParams{
		ContextLength: &a.contextLength,
		Format:        a.model.format(),
		HostTools:     []toolcrib.HostTool{clock},
	}
	for range 30 {
		assembly, err := a.client.AssembleTools(ctx, &params)
		if err != nil {
			return "", err
		}
		if !assembly.Unchanged {
			tools, params.KnownDigest = assembly.Tools, &assembly.Digest
		}
		text, calls, err := a.model.ask(ctx, tools)
		if err != nil || len(calls) == 0 {
			return text, err
		}
		var answers []toolAnswer
		for _, call := range calls {
			content, isError, err := a.call(ctx, call)
			if err != nil {
				return "", err
			}
			answers = append(answers, toolAnswer{call, content, isError})
		}
		a.model.tell(answers)
	}
	return "(gave up after 30 turns)", nil
}

// call returns what the model is told, and whether that is an error.
func (a *agent) call(ctx context.Context, call toolCall) (string, bool, error) {
	// The real tool, also where the model went through tool_call: questions are about that.
	resolved, err := a.client.Resolve(ctx, &toolcrib.ResolveParams{Name: call.name, Arguments: call.arguments})
	if err != nil {
		return "", false, err
	}
	if resolved.Tool != nil && !a.mayRun(resolved.Tool, resolved.Arguments) {
		return `{"error": "the user does not allow this call"}`, true, nil
	}
	params := toolcrib.DispatchParams{Name: call.name, Arguments: call.arguments, CallID: &call.id}
	answer, err := a.client.Dispatch(ctx, &params)
	if err != nil {
		return "", false, err
	}
	switch result := answer.Value.(type) {
	case *toolcrib.CallResult:
		return result.Content, result.IsError, nil
	case *toolcrib.HostCall:
		if result.Tool.Name == clock.Name {
			return fmt.Sprintf(`{"result": %q}`, time.Now().Format(time.RFC1123)), false, nil
		}
	}
	return `{"error": "this agent cannot do that"}`, true, nil
}

func (a *agent) mayRun(tool *toolcrib.ToolRef, arguments json.RawMessage) bool {
	fmt.Printf("-> %s %s\n", tool.Name, arguments)
	// What this agent does itself needs no question; what servers say of their tools spares none.
	return tool.Source == toolcrib.ToolSourceHost || !a.askFirst || a.yes("run it?")
}

func (a *agent) yes(question string) bool {
	a.terminal.Lock()
	defer a.terminal.Unlock()
	fmt.Print(question, " [y/N] ")
	answer, _ := a.input.ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(answer), "y")
}

// Approve is asked where the configuration says approval: ask.
func (a *agent) Approve(_ context.Context, params *toolcrib.ApproveParams) (*toolcrib.ApproveResult, error) {
	decision := toolcrib.ApprovalDecisionDeny
	if a.yes(fmt.Sprintf("%s: run %s?", params.Reason, params.Tool.Name)) {
		decision = toolcrib.ApprovalDecisionAllow
	}
	return &toolcrib.ApproveResult{Decision: decision}, nil
}

func main() {
	api := flag.String("api", "openai", "openai or anthropic")
	name := flag.String("model", "", "name of the model")
	config := flag.String("config", "", "configuration of toolcrib; by default the one that it finds")
	contextLength := flag.Uint64("context-length", 128_000, "tokens that the model can hold")
	yes := flag.Bool("yes", false, "run tools without asking")
	flag.Parse()
	question := map[string]any{"role": "user", "content": flag.Arg(0)}

	a := &agent{contextLength: *contextLength, askFirst: !*yes, input: bufio.NewReader(os.Stdin)}
	if *api == "anthropic" {
		a.model = &anthropic{cmp.Or(*name, "claude-sonnet-4-5"), []any{question}}
	} else {
		a.model = &openAI{cmp.Or(*name, "gpt-4.1-mini"), []any{question}}
	}
	options := toolcrib.Options{Handlers: a, Capabilities: toolcrib.HostCapabilities{Approval: toolcrib.Ptr(true)}}
	if *config != "" {
		options.Config = toolcrib.ConfigFile(*config)
	}
	if err := start(a, options); err != nil {
		log.Fatal(err)
	}
}

func start(a *agent, options toolcrib.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := toolcrib.Spawn(ctx, options)
	if err != nil {
		return err
	}
	defer client.Close()
	a.client = client
	for _, problem := range client.Info().Problems {
		fmt.Printf("%s: %s (%s)\n", problem.Severity, problem.Message, problem.Path)
	}
	text, err := a.run(ctx)
	if err != nil {
		return err
	}
	fmt.Println(text)
	return nil
}
