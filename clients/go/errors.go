package toolcrib

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The codes of errors on the wire.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
	CodeOverloaded     = -32001
	CodeCancelled      = -32800
	CodeRequestFailed  = -32803
)

var (
	// ErrClosed says that the sidecar has ended, or was closed; every open call fails with it.
	// errors.As finds a *ClosedError with the exit status.
	ErrClosed = errors.New("the sidecar is closed")

	// ErrNotSupported is the answer to what a host does not handle.
	ErrNotSupported = &Error{Code: CodeMethodNotFound, Message: "not supported"}

	// ErrBinaryNotFound says that there is no program to start.
	ErrBinaryNotFound = errors.New("no toolcrib binary found")
)

// Error is an error that the sidecar answered with. A handler may return one to answer with it.
//
// errors.Is compares it by what is set in the target: &Error{Code: CodeOverloaded}, or
// &Error{Data: &ErrorData{Kind: "configInvalid"}}.
type Error struct {
	Code int

	Message string

	// Data says why a request could not be served (CodeRequestFailed).
	Data *ErrorData

	// RawData is the member data as it was sent.
	RawData json.RawMessage
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Kind is a word to branch on, such as configInvalid; empty where there is none.
func (e *Error) Kind() string {
	if e.Data == nil {
		return ""
	}
	return e.Data.Kind
}

// Retryable says whether the same request may succeed later.
func (e *Error) Retryable() bool {
	return e.Code == CodeOverloaded || (e.Data != nil && e.Data.Retryable)
}

// Is says whether the error has the code and the kind that the target has.
func (e *Error) Is(target error) bool {
	wanted, ok := target.(*Error)
	if !ok {
		return false
	}
	return (wanted.Code == 0 || wanted.Code == e.Code) && (wanted.Kind() == "" || wanted.Kind() == e.Kind())
}

// ClosedError is ErrClosed with what is known of the end.
type ClosedError struct {
	// How is for people.
	How string

	// ExitStatus is -1 where the process was killed by a signal, or its status is not known.
	ExitStatus int
}

func (e *ClosedError) Error() string { return e.How }

// Is makes the error an ErrClosed.
func (e *ClosedError) Is(target error) bool { return target == ErrClosed }

// ProtocolError says that the sidecar sent something that is not of the contract.
type ProtocolError struct {
	What string

	Err error
}

func (e *ProtocolError) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

func (e *ProtocolError) Unwrap() error { return e.Err }

// VersionError says that the sidecar speaks another revision of the contract.
type VersionError struct {
	Client int

	Sidecar int

	// Binary is the program, and Version what it says of itself.
	Binary string

	Version string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("this client speaks protocol version %d, but %s (version %s) speaks %d: install versions of the two that belong together",
		e.Client, e.Binary, e.Version, e.Sidecar)
}
