package wire

// The states of a Canary.
const (
	CanaryPending     = "pending"
	CanaryLoaded      = "loaded"
	CanaryFailed      = "failed"
	CanaryUnavailable = "unavailable"
)

// Canary says whether a real guest of an executor was refused what the policy
// denies, before the policy came into force.
type Canary struct {
	State      string   `json:"state"` // pending | loaded | failed | unavailable
	Agent      string   `json:"agent"` // whose profile the guest had
	Tried      []string `json:"tried"` // "import ctypes", "host 127.0.0.1:4711", "binary /usr/bin/true"
	TookMillis int64    `json:"took_ms"`
	Reason     string   `json:"reason,omitempty"`
}
