package toolcrib

import (
	"context"
	"iter"
)

// kept is how many notifications wait for a listener that does not keep up; then the oldest are
// dropped.
const kept = 1000

// Listener takes what the sidecar tells, from the moment it was made.
type Listener struct {
	client *Client

	notifications chan Notification
}

// Listen returns a listener; Close it when it is no longer wanted.
func (c *Client) Listen() *Listener {
	l := &Listener{client: c, notifications: make(chan Notification, kept)}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closing {
		l.end()
	} else {
		c.listeners[l] = struct{}{}
	}
	return l
}

// C is the channel of notifications; it is closed when the sidecar is gone.
func (l *Listener) C() <-chan Notification { return l.notifications }

// All iterates over the notifications until the context ends or the sidecar is gone.
func (l *Listener) All(ctx context.Context) iter.Seq[Notification] {
	return func(yield func(Notification) bool) {
		for {
			select {
			case notification, open := <-l.notifications:
				if !open || !yield(notification) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// Close stops listening.
func (l *Listener) Close() {
	l.client.mutex.Lock()
	defer l.client.mutex.Unlock()
	if _, listening := l.client.listeners[l]; listening {
		delete(l.client.listeners, l)
		l.end()
	}
}

// offer and end are called with the client's mutex held.
func (l *Listener) offer(notification Notification) {
	for {
		select {
		case l.notifications <- notification:
			return
		default:
		}
		select {
		case <-l.notifications:
		default:
		}
	}
}

func (l *Listener) end() { close(l.notifications) }
