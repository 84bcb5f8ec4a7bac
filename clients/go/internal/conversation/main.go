// Command conversation plays the scripted conversation.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	toolcrib "github.com/toolcrib/toolcrib/clients/go"
)

var clock = toolcrib.HostTool{
	Name:        "clock",
	Description: toolcrib.Ptr("Tells the time."),
	Parameters:  map[string]any{"type": "object"},
}

type player struct {
	toolcrib.NoHandlers

	binary, before, after string

	mutex    sync.Mutex
	asked    *toolcrib.ApproveParams
	progress map[string][]float64
}

func (p *player) Approve(_ context.Context, params *toolcrib.ApproveParams) (*toolcrib.ApproveResult, error) {
	p.mutex.Lock()
	p.asked = params
	p.mutex.Unlock()
	var arguments struct{ Title string }
	if err := json.Unmarshal(params.Arguments, &arguments); err != nil {
		return nil, err
	}
	if arguments.Title == "yes" {
		return &toolcrib.ApproveResult{Decision: toolcrib.ApprovalDecisionAllow}, nil
	}
	return &toolcrib.ApproveResult{Decision: toolcrib.ApprovalDecisionDeny}, nil
}

func (p *player) listen(notification toolcrib.Notification) {
	if it, ok := notification.(*toolcrib.ProgressNotification); ok {
		p.mutex.Lock()
		p.progress[it.CallID] = append(p.progress[it.CallID], it.Progress)
		p.mutex.Unlock()
	}
}

func (p *player) waitForProgress(ctx context.Context, client *toolcrib.Client, callIDs ...string) {
	listener := client.Listen()
	defer listener.Close()
	missing := func() int {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		count := 0
		for _, id := range callIDs {
			if len(p.progress[id]) == 0 {
				count++
			}
		}
		return count
	}
	for missing() > 0 {
		select {
		case <-listener.C():
		case <-ctx.Done():
			check(ctx.Err())
		}
	}
}

func (p *player) play(ctx context.Context) {
	client, err := toolcrib.Spawn(ctx, toolcrib.Options{
		Binary:         p.binary,
		Config:         toolcrib.ConfigFile(p.before),
		Handlers:       p,
		Capabilities:   toolcrib.HostCapabilities{Approval: toolcrib.Ptr(true)},
		OnNotification: p.listen,
	})
	check(err)
	info := client.Info()
	say("initialize", "protocolVersion", info.ProtocolVersion, "server", info.ServerInfo.Name)
	digest := p.turns(ctx, client)
	p.calls(ctx, client)
	p.trouble(ctx, client)
	p.reload(ctx, client, digest)
	p.kill(ctx, client)
	check(client.Close())

	client, err = toolcrib.Spawn(ctx, toolcrib.Options{Binary: p.binary, Config: toolcrib.ConfigFile(p.after)})
	check(err)
	_, err = client.AssembleTools(ctx, &toolcrib.AssembleToolsParams{WaitMs: toolcrib.Ptr(uint64(20_000))})
	check(err)
	status, err := client.Status(ctx, nil)
	check(err)
	names, ready := []string{}, true
	for _, server := range status.Servers {
		names = append(names, server.Name)
		ready = ready && server.State == toolcrib.ServerStateReady
	}
	say("restart", "servers", names, "ready", ready)
	check(client.Close())
	if syscall.Kill(client.PID(), 0) == syscall.ESRCH {
		say("closed")
	}
}

func (p *player) turns(ctx context.Context, client *toolcrib.Client) string {
	params := toolcrib.AssembleToolsParams{
		ContextLength: toolcrib.Ptr(uint64(200_000)),
		HostTools:     []toolcrib.HostTool{clock},
		WaitMs:        toolcrib.Ptr(uint64(20_000)),
	}
	first, err := client.AssembleTools(ctx, &params)
	check(err)
	say("assemble", "mode", first.Decision.Mode, "reason", first.Decision.Reason, "tools", names(first.Tools))
	params.KnownDigest = &first.Digest
	second, err := client.AssembleTools(ctx, &params)
	check(err)
	say("again", "unchanged", second.Unchanged, "tools", second.Tools)

	found := result(client.Dispatch(ctx, &toolcrib.DispatchParams{
		Name:      "tool_search",
		Arguments: map[string]any{"query": "give back arguments"},
	}))
	var matches struct {
		Matches []struct{ Name, Server string }
	}
	check(json.Unmarshal([]byte(found.Content), &matches))
	say("search", "bridge", found.Bridge, "first", matches.Matches[0].Name, "server", matches.Matches[0].Server)

	answer, err := client.Dispatch(ctx, &toolcrib.DispatchParams{
		Name:      "tool_call",
		Arguments: map[string]any{"name": "clock", "arguments": map[string]any{"zone": "UTC"}},
	})
	check(err)
	left := answer.Value.(*toolcrib.HostCall)
	say("host", "tool", left.Tool.Name, "source", left.Tool.Source, "arguments", left.Arguments, "bridge", left.Bridge)
	return first.Digest
}

func (p *player) calls(ctx context.Context, client *toolcrib.Client) {
	resolved, err := client.Resolve(ctx, &toolcrib.ResolveParams{
		Name:      "tool_call",
		Arguments: map[string]any{"name": "mcp_safe_write", "arguments": map[string]any{"title": "yes"}},
	})
	check(err)
	tool := resolved.Tool
	say("resolve", "tool", tool.Name, "server", tool.Server, "originalName", tool.OriginalName, "arguments", resolved.Arguments)

	for _, step := range []struct{ name, title string }{{"approved", "yes"}, {"denied", "no"}} {
		it := result(client.Dispatch(ctx, &toolcrib.DispatchParams{
			Name:      "mcp_safe_write",
			Arguments: map[string]any{"title": step.title},
			CallID:    &step.name,
		}))
		p.mutex.Lock()
		asked := object("callId", p.asked.CallID, "tool", p.asked.Tool.Name, "arguments", p.asked.Arguments)
		p.mutex.Unlock()
		say(step.name, "outcome", it.Outcome, "isError", it.IsError, "asked", asked)
	}

	it := result(client.Dispatch(ctx, slow("p", 3)))
	p.mutex.Lock()
	seen := p.progress["p"]
	p.mutex.Unlock()
	say("progress", "seen", seen, "content", content(it))
}

func (p *player) trouble(ctx context.Context, client *toolcrib.Client) {
	cancelled, cancel := context.WithCancel(ctx)
	go func() {
		p.waitForProgress(ctx, client, "c")
		cancel()
	}()
	if _, err := client.Dispatch(cancelled, slow("c", 1000)); errors.Is(err, context.Canceled) {
		say("cancel", "error", "cancelled")
	}
	count := 0
	for tries := 0; tries < 1000 && count == 0; tries++ {
		it := result(client.Dispatch(ctx, &toolcrib.DispatchParams{Name: "mcp_desk_cancelled"}))
		var err error
		count, err = strconv.Atoi(content(it))
		check(err)
	}
	say("reached", "count", count)

	it := result(client.Dispatch(ctx, &toolcrib.DispatchParams{Name: "mcp_desk_nothing"}))
	say("unknown", "outcome", it.Outcome, "isError", it.IsError)
	_, err := client.Reload(ctx, &toolcrib.ReloadParams{Servers: []string{"nowhere"}})
	var failure *toolcrib.Error
	if errors.As(err, &failure) {
		say("error", "code", failure.Code, "kind", failure.Kind(), "retryable", failure.Retryable())
	}
}

func (p *player) reload(ctx context.Context, client *toolcrib.Client, digest string) {
	done, err := client.Reload(ctx, &toolcrib.ReloadParams{Config: toolcrib.ConfigFile(p.after)})
	check(err)
	say("reload", "added", done.Added, "removed", done.Removed, "changed", done.Changed, "unchanged", done.Unchanged)
	changed, err := client.AssembleTools(ctx, &toolcrib.AssembleToolsParams{
		ContextLength: toolcrib.Ptr(uint64(200_000)),
		HostTools:     []toolcrib.HostTool{clock},
		KnownDigest:   &digest,
		WaitMs:        toolcrib.Ptr(uint64(20_000)),
	})
	check(err)
	say("changed", "unchanged", changed.Unchanged, "mode", changed.Decision.Mode, "tools", names(changed.Tools))
}

func (p *player) kill(ctx context.Context, client *toolcrib.Client) {
	ends := make(chan error)
	for _, id := range []string{"k1", "k2"} {
		go func() {
			_, err := client.Dispatch(ctx, slow(id, 1000))
			ends <- err
		}()
	}
	p.waitForProgress(ctx, client, "k1", "k2")
	started := time.Now()
	check(syscall.Kill(client.PID(), syscall.SIGKILL))
	seen := []string{closed(<-ends), closed(<-ends)}
	say("killed", "errors", seen, "promptly", time.Since(started) < time.Second)
	_, err := client.Status(ctx, nil)
	say("dead", "error", closed(err))
}

func slow(callID string, steps int) *toolcrib.DispatchParams {
	return &toolcrib.DispatchParams{Name: "mcp_desk_slow", Arguments: map[string]any{"steps": steps}, CallID: &callID}
}

func result(answer *toolcrib.DispatchResult, err error) *toolcrib.CallResult {
	check(err)
	return answer.Value.(*toolcrib.CallResult)
}

func content(it *toolcrib.CallResult) string {
	var content struct{ Result string }
	check(json.Unmarshal([]byte(it.Content), &content))
	return content.Result
}

func names(tools []json.RawMessage) []string {
	var found []string
	for _, data := range tools {
		var tool struct{ Function struct{ Name string } }
		check(json.Unmarshal(data, &tool))
		found = append(found, tool.Function.Name)
	}
	return found
}

func closed(err error) string {
	if errors.Is(err, toolcrib.ErrClosed) {
		return "closed"
	}
	return fmt.Sprint(err)
}

// object writes members in the order given.
func object(members ...any) json.RawMessage {
	var text bytes.Buffer
	for i, member := range members {
		data, err := json.Marshal(member)
		check(err)
		text.WriteString([]string{",", ":"}[i%2])
		text.Write(data)
	}
	return json.RawMessage("{" + text.String()[1:] + "}")
}

func say(step string, facts ...any) {
	fmt.Println(string(object(append([]any{"step", step}, facts...)...)))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "conversation:", err)
		os.Exit(1)
	}
}

func main() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	p := &player{binary: os.Args[1], before: os.Args[2], after: os.Args[3], progress: map[string][]float64{}}
	p.play(ctx)
}
