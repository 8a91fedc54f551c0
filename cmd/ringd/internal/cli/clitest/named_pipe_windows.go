package clitest

// NamedPipe skips the test: Windows has no named pipes in folders.
func NamedPipe(t PipeTest, path string) {
	t.Helper()
	t.Skip("Windows has no named pipes in folders: " + path)
}
