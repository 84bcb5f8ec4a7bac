package toolcrib

import (
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// linger is how long nobody has to call until the background goroutine reads.
const linger = 10 * time.Millisecond

// reader cuts what comes from the sidecar into lines.
//
// Whoever waits for an answer reads by itself: to be woken by another goroutine would cost about
// as much as the call. Who holds the token reads; it hands each answer to the goroutine that waits
// for it, and puts the token back when it has its own, for another to go on. A background goroutine
// reads while nobody waits, so that notifications arrive in time.
type reader struct {
	pipe  *os.File
	token chan struct{}

	// ended is closed when the sidecar has closed its end; the token is not put back then.
	ended   chan struct{}
	endOnce sync.Once

	// byCallers counts how often a caller took the token.
	byCallers atomic.Uint64

	// The rest is for the holder of the token: what was read and not taken yet, and how much of it
	// is known to have no end of line.
	buffer  []byte
	scanned int
}

func newReader(pipe *os.File) *reader {
	r := &reader{pipe: pipe, token: make(chan struct{}, 1), ended: make(chan struct{})}
	r.token <- struct{}{}
	return r
}

// line returns the next line, which is good until the next call. A deadline leaves all as it is.
func (r *reader) line() ([]byte, error) {
	for {
		if end := bytes.IndexByte(r.buffer[r.scanned:], '\n'); end >= 0 {
			end += r.scanned
			line := r.buffer[:end]
			r.buffer, r.scanned = r.buffer[end+1:], 0
			return line, nil
		}
		r.scanned = len(r.buffer)
		if cap(r.buffer)-len(r.buffer) < 16<<10 {
			grown := make([]byte, len(r.buffer), 2*len(r.buffer)+64<<10)
			copy(grown, r.buffer)
			r.buffer = grown
		}
		n, err := r.pipe.Read(r.buffer[len(r.buffer):cap(r.buffer)])
		r.buffer = r.buffer[:len(r.buffer)+n]
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// next returns the next line. When nothing can be read any more it ends the reader; more says
// whether it may be tried again.
func (r *reader) next() (line []byte, more bool) {
	line, err := r.line()
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		r.endOnce.Do(func() { close(r.ended) })
		return nil, false
	}
	return line, true
}

// interrupt makes the holder of the token look up.
func (r *reader) interrupt() { r.pipe.SetReadDeadline(time.Unix(1, 0)) }

// lead reads for a caller that holds the token, until done, or the context or the client ends.
func (c *Client) lead(ctx context.Context, done func() bool) {
	r := c.reader
	r.byCallers.Add(1)
	// Whatever interrupted the last holder is over.
	r.pipe.SetReadDeadline(time.Time{})
	more := true
	defer func() {
		if more {
			r.token <- struct{}{}
		}
	}()
	if ctx.Done() != nil {
		interrupted := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			r.interrupt()
			close(interrupted)
		})
		defer func() {
			if !stop() {
				<-interrupted
			}
		}()
	}
	for more && !done() && !c.isLost() && ctx.Err() == nil {
		var line []byte
		if line, more = r.next(); line != nil {
			c.received(line)
		}
	}
}

// readInBackground reads while no caller does, until the sidecar closes its end.
func (c *Client) readInBackground() {
	r := c.reader
	for {
		seen := r.byCallers.Load()
		select {
		case <-time.After(linger):
		case <-c.lost:
		}
		if r.byCallers.Load() != seen && !c.isLost() {
			continue
		}
		select {
		case <-r.token:
		case <-r.ended:
			return
		}
		// After the client's end the sidecar is still read, so that it can go in peace.
		for answered := false; !answered || c.isLost(); {
			r.pipe.SetReadDeadline(time.Time{})
			line, more := r.next()
			if !more {
				return
			}
			answered = line != nil && c.received(line)
		}
		r.token <- struct{}{}
	}
}
