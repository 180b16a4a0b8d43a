import { type ChildProcess, spawn } from 'node:child_process'

/** A shell that is typed into, as a reader would: variables and folder stay from one block to the next. */
export class Terminal {
  readonly #shell: ChildProcess
  readonly #ended: Promise<number | null>
  #screen = ''
  #onOutput = () => {}

  constructor(cwd: string, env: NodeJS.ProcessEnv) {
    this.#shell = spawn('bash', ['-e'], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
    for (const stream of [this.#shell.stdout!, this.#shell.stderr!]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        this.#screen += chunk
        this.#onOutput()
      })
    }
    this.#ended = new Promise(resolve => this.#shell.once('close', code => resolve(code)))
    // Whoever types into a shell that has ended is told so by its end.
    this.#shell.stdin!.on('error', () => {})
  }

  get screen(): string {
    return this.#screen
  }

  /** Types commands and does not wait for them. */
  begin(commands: string): void {
    this.#shell.stdin!.write(`${commands}\n`)
  }

  /**
   * Types commands, waits until all are done, and answers with what they printed. A command that fails ends
   * the shell.
   */
  async type(commands: string): Promise<string> {
    const from = this.#screen.length
    const mark = `-- done ${from} --`
    this.begin(`${commands}\necho '${mark}'`)
    const ended = this.#ended.then(code => `exit code ${code} of\n${commands}\n${this.#screen.slice(from)}`)
    while (!this.#screen.includes(mark, from)) {
      const output = new Promise<null>(resolve => {
        this.#onOutput = () => resolve(null)
      })
      const failure = await Promise.race([output, ended])
      if (failure !== null) throw new Error(failure)
    }
    return this.#screen.slice(from, this.#screen.indexOf(mark, from))
  }

  /** Ctrl-C: everything that runs in this terminal gets it. */
  async interrupt(): Promise<void> {
    this.#shell.stdin!.end()
    if (this.#shell.exitCode === null) process.kill(-this.#shell.pid!, 'SIGINT')
    await this.#ended
  }

  async close(): Promise<void> {
    try {
      process.kill(-this.#shell.pid!, 'SIGKILL')
    } catch {
      // Nobody is left in the group.
    }
    await this.#ended
  }
}
