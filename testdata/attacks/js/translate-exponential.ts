// attack: a program whose translation tries two readings of each arrow
// want: limit Timeout
const x = a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>a?(b):c=>d
