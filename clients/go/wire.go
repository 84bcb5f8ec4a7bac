package toolcrib

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxMessage is the size from which on the sidecar skips messages unread.
const maxMessage = 64 << 20

// message is whatever goes over the wire.
type message struct {
	JSONRPC string `json:"jsonrpc"`

	ID json.RawMessage `json:"id,omitempty"`

	Method string `json:"method,omitempty"`

	Params any `json:"params,omitempty"`

	Result json.RawMessage `json:"result,omitempty"`

	Error *wireError `json:"error,omitempty"`
}

// received is a message before it is known what it is.
type received struct {
	ID json.RawMessage `json:"id"`

	Method *string `json:"method"`

	Params json.RawMessage `json:"params"`

	Result json.RawMessage `json:"result"`

	Error *wireError `json:"error"`
}

type wireError struct {
	Code int `json:"code"`

	Message string `json:"message"`

	Data json.RawMessage `json:"data,omitempty"`
}

func (e *wireError) err() error {
	err := &Error{Code: e.Code, Message: e.Message, RawData: e.Data}
	if e.Code == CodeRequestFailed {
		var data ErrorData
		if json.Unmarshal(e.Data, &data) == nil && data.Kind != "" {
			err.Data = &data
		}
	}
	return err
}

// refusal is how an error of a handler is answered.
func refusal(err error) *wireError {
	var own *Error
	if errors.As(err, &own) {
		return &wireError{Code: own.Code, Message: own.Message, Data: own.RawData}
	}
	return &wireError{Code: CodeInternalError, Message: err.Error()}
}

// marshal writes JSON without the escapes that only a web page needs.
func marshal(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// encode writes a message as one line.
func encode(m message) ([]byte, error) {
	m.JSONRPC = "2.0"
	line, err := marshal(m)
	if err != nil {
		return nil, err
	}
	if len(line) > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes: the sidecar takes up to %d", len(line), maxMessage)
	}
	return append(line, '\n'), nil
}
