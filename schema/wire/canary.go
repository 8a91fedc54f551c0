package wire

// The states of a Canary.
const (
	CanaryPending     = "pending"
	CanaryLoaded      = "loaded"
	CanaryFailed      = "failed"
	CanaryUnavailable = "unavailable"
)

// Canary is the result of a guest that is started before a policy comes into force. The
// guest tries what the policy denies, and each try must be denied.
type Canary struct {
	State      string   `json:"state"` // pending | loaded | failed | unavailable
	Agent      string   `json:"agent"` // the agent whose profile the guest had
	Tried      []string `json:"tried"` // "import ctypes", "host 127.0.0.1:4711", "binary /usr/bin/true"
	TookMillis int64    `json:"took_ms"`
	Reason     string   `json:"reason,omitempty"`
}
