// Starts a command in Anthropic's sandbox-runtime once for each line of stdin, in
// one process that is set up already, and answers with nanoseconds.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { SandboxManager } from '@anthropic-ai/sandbox-runtime'

const command = process.argv[2]
await SandboxManager.initialize({
  network: { allowedDomains: [], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
})
process.stdout.write('ready\n')
for await (const _ of createInterface({ input: process.stdin })) {
  const began = process.hrtime.bigint()
  const { argv, env } = await SandboxManager.wrapWithSandboxArgv(command)
  const code = await new Promise((done, failed) => {
    const child = spawn(argv[0], argv.slice(1), { env, stdio: 'ignore' })
    child.on('error', failed)
    child.on('exit', done)
  })
  if (code !== 0) throw new Error(`exit code ${code}`)
  process.stdout.write(`${process.hrtime.bigint() - began}\n`)
}
await SandboxManager.reset()
process.exit(0)
