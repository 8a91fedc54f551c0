package kernel

import (
	"fmt"
	"os"
	"sync"

	"github.com/ringd/ringd/profiles"
)

// The kernel counts tasks, watches of epoll, pages of pipes and more for each user of the host. If this process
// is root, the guests of each agent have a user of their own, so that no agent uses up the allowance of another
// one's guests. On disk all guests are one user, the first of the range: the folders that are granted to a
// guest are mounted so that files of that user belong to the guest's own user there.

// users assigns users to guests.
type users struct {
	first, count int  // the range; if count is 1, all guests have the same user
	own          bool // none of them is the user of this process

	mu    sync.Mutex
	next  int            // of the range, the first that no agent has had yet
	of    map[string]int // by agent
	agent map[int]string // the same, by number
	live  map[int]int    // live guests, by number
}

// usersOf returns the users of guests for this configuration, with the group gid.
func usersOf(c Config) (u *users, gid int, err error) {
	u = &users{first: os.Getuid(), count: 1, of: map[string]int{}, agent: map[int]string{}, live: map[int]int{}}
	if u.first != 0 {
		return u, os.Getgid(), nil
	}
	u.own = true
	switch u.first, u.count = c.GuestID, c.GuestCount; {
	case u.first < 0 || u.count < 0 || u.count > maxID-u.first:
		return nil, 0, fmt.Errorf("kernel ring: guests cannot be %d users from %d on", u.count, u.first)
	case u.first == 0 && u.count == 0:
		u.first, u.count = DefaultGuestID, DefaultGuestCount
	case u.first == 0:
		u.first = DefaultGuestID
	case u.count == 0: // a configuration with one number gives only that one
		u.count = 1
	}
	if u.count > 1 && u.count < minUsers {
		return nil, 0, fmt.Errorf(
			"kernel ring: %d users are too few: one of files, one of guests of no agent, one for each agent", u.count,
		)
	}
	u.next = u.first + minUsers - 1
	return u, u.first, nil
}

const (
	// minUsers counts the user of files, the user of guests without an agent, and one agent's.
	minUsers = 3
	maxID    = 1<<31 - 1
)

// apart reports whether agents have users of their own.
func (u *users) apart() bool { return u.count > 1 }

// nobody is the user of guests that have no agent yet.
func (u *users) nobody() int {
	if !u.apart() {
		return u.first
	}
	return u.first + 1
}

// takeUser returns the number for an agent's guests. It is reused for another agent only if this agent has no live
// guest. leave is called once, when the guest has ended.
func (u *users) takeUser(agent string) (uid int, leave func(), err error) {
	if agent == "" || !u.apart() {
		return u.nobody(), func() {}, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	uid, ok := u.of[agent]
	if !ok {
		if uid, ok = u.freeLocked(); !ok {
			return 0, nil, noUser(agent, u.count-minUsers+1)
		}
		delete(u.of, u.agent[uid])
		u.of[agent], u.agent[uid] = uid, agent
	}
	u.live[uid]++
	return uid, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.live[uid]--; u.live[uid] == 0 {
			delete(u.live, uid)
		}
	}, nil
}

// freeLocked finds a number that no agent has had, or one whose agent has no live guest.
func (u *users) freeLocked() (uid int, ok bool) {
	if u.next < u.first+u.count {
		u.next++
		return u.next - 1, true
	}
	for uid := range u.agent {
		if u.live[uid] == 0 {
			return uid, true
		}
	}
	return 0, false
}

// noUser denies a guest for which there is no number.
func noUser(agent string, agents int) *profiles.Denial {
	return &profiles.Denial{Capability: "agent " + agent, Decision: profiles.Decision{
		Verdict: profiles.Deny, Code: profiles.CodeHostFull,
		Reason: fmt.Sprintf(
			"the guests of each agent need a separate user, and all %d users of guests.uid, guests.count are in use",
			agents,
		),
		Instead: []string{
			"raise guests.count in the daemon's configuration", "try again when runs of other agents have ended",
		},
	}}
}
