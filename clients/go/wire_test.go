package toolcrib

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// fixtures are what all languages read and write alike.
type fixtures struct {
	Cases []struct {
		Type, Name string

		Value, Encoded json.RawMessage
	}

	Errors []struct {
		Name string

		Error wireError

		Kind string

		Retryable bool

		Problems *int
	}
}

func readFixtures(t *testing.T) (all fixtures) {
	paths, err := filepath.Glob("../../tests/wire/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file fixtures
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(path, err)
		}
		all.Cases = append(all.Cases, file.Cases...)
		all.Errors = append(all.Errors, file.Errors...)
	}
	if len(all.Cases) < 50 || len(all.Errors) < 5 {
		t.Fatal("where are the fixtures?")
	}
	return all
}

var emptyValues = map[string]func() any{
	"InitializeParams":         func() any { return new(InitializeParams) },
	"InitializeResult":         func() any { return new(InitializeResult) },
	"AssembleToolsParams":      func() any { return new(AssembleToolsParams) },
	"AssembleToolsResult":      func() any { return new(AssembleToolsResult) },
	"DispatchParams":           func() any { return new(DispatchParams) },
	"DispatchResult":           func() any { return new(DispatchResult) },
	"ResolveParams":            func() any { return new(ResolveParams) },
	"ResolveResult":            func() any { return new(ResolveResult) },
	"ReloadParams":             func() any { return new(ReloadParams) },
	"ReloadResult":             func() any { return new(ReloadResult) },
	"StatusParams":             func() any { return new(StatusParams) },
	"StatusResult":             func() any { return new(StatusResult) },
	"CloseSessionParams":       func() any { return new(CloseSessionParams) },
	"ShutdownParams":           func() any { return new(ShutdownParams) },
	"EmptyResult":              func() any { return new(EmptyResult) },
	"ApproveParams":            func() any { return new(ApproveParams) },
	"ApproveResult":            func() any { return new(ApproveResult) },
	"ElicitParams":             func() any { return new(ElicitParams) },
	"ElicitResult":             func() any { return new(ElicitResult) },
	"SampleParams":             func() any { return new(SampleParams) },
	"OpenUrlParams":            func() any { return new(OpenURLParams) },
	"OpenUrlResult":            func() any { return new(OpenURLResult) },
	"ToolsChangedNotification": func() any { return new(ToolsChangedNotification) },
	"ServerStatusNotification": func() any { return new(ServerStatusNotification) },
	"ProgressNotification":     func() any { return new(ProgressNotification) },
	"LogNotification":          func() any { return new(LogNotification) },
	"ServerStatus":             func() any { return new(ServerStatus) },
	"Problem":                  func() any { return new(Problem) },
	"Position":                 func() any { return new(Position) },
}

func TestValuesSurviveReadingAndWriting(t *testing.T) {
	for _, test := range readFixtures(t).Cases {
		t.Run(test.Type+": "+test.Name, func(t *testing.T) {
			empty := emptyValues[test.Type]
			if empty == nil {
				t.Fatal("no such type in wire_test.go")
			}
			value := empty()
			// Params hold `any`, which reads numbers as float64 unless told otherwise.
			decoder := json.NewDecoder(bytes.NewReader(test.Value))
			decoder.UseNumber()
			if err := decoder.Decode(value); err != nil {
				t.Fatal(err)
			}
			written, err := marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			expected := test.Value
			if test.Encoded != nil {
				expected = test.Encoded
			}
			if !reflect.DeepEqual(parse(t, written), parse(t, expected)) {
				t.Errorf("written:  %s\nexpected: %s", written, expected)
			}
		})
	}
}

func parse(t *testing.T, data []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestErrorsAreUnderstood(t *testing.T) {
	for _, test := range readFixtures(t).Errors {
		t.Run(test.Name, func(t *testing.T) {
			var err *Error
			if !errors.As(test.Error.err(), &err) {
				t.Fatal("no *Error")
			}
			if err.Code != test.Error.Code || err.Kind() != test.Kind || err.Retryable() != test.Retryable {
				t.Errorf("%+v", err)
			}
			if test.Problems != nil && len(err.Data.Problems) != *test.Problems {
				t.Errorf("%+v", err.Data)
			}
		})
	}
}

func TestInvalidTextIsMended(t *testing.T) {
	line, err := encode(message{Method: "x", Params: map[string]string{"a": "\xffé<>&"}})
	if err != nil || string(line) != "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":\"\\ufffdé<>&\"}}\n" {
		t.Error(string(line), err)
	}
}

func TestMessageOverTheLimitIsRefused(t *testing.T) {
	if _, err := encode(message{Method: "x", Params: strings.Repeat("x", maxMessage)}); err == nil {
		t.Error("no error")
	}
}
