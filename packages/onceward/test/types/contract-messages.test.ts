import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../../../', import.meta.url))
const file = join(here, 'impossible-contracts.ts')

test('every impossible contract is an error of the editor that says what to do', {
  timeout: 120_000,
}, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-types-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const typeRoots = [join(root, 'node_modules', '@types')]
  const project = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { typeRoots },
    files: [file],
    include: [],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...project, exclude: [] }))
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const output = await new Promise<string>(resolve =>
    execFile(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], (_, stdout) => resolve(stdout)),
  )
  const errors: string[] = []
  let at = 0
  for (const text of output.split('\n')) {
    const line = /impossible-contracts\.ts\((\d+),/.exec(text)?.[1]
    if (line !== undefined) at = Number(line)
    errors[at] = `${errors[at] ?? ''}${text}\n`
  }
  const lines = readFileSync(file, 'utf8').split('\n')
  const wanted = lines.flatMap((text, index) => (text.startsWith('// ') ? [index + 1] : []))
  assert.ok(wanted.length > 20)
  for (const [index, line] of wanted.entries()) {
    const words = lines[line - 1]!.slice(3)
    const said = errors.slice(line, wanted[index + 1] ?? lines.length).join('')
    assert.ok(said.includes(words), `line ${line}: ${words}\n${said || output}`)
  }
})
