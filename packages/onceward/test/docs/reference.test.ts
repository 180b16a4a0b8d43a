import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { docs, referencePages, wholePages } from '../../../../scripts/reference/pages.ts'
import { createProgram } from '../../src/cli/program.ts'
import { policyKeys } from '../../src/contract/policy/keys/policy-keys.ts'
import { everyCommand } from './cli-words.ts'
import { root } from './pages.ts'

const generated = referencePages()

describe('the reference', () => {
  for (const [path, text] of Object.entries(generated)) {
    test(`${path} is what the code says (else: npm run reference)`, () => {
      assert.equal(readFileSync(join(docs, path), 'utf8'), text)
    })
  }

  test('has no page that the code does not write', () => {
    const there = readdirSync(join(docs, 'reference')).map(name => `reference/${name}`)
    const written = Object.keys(wholePages).filter(path => path.startsWith('reference/'))
    assert.deepEqual(there.sort(), written.sort())
  })

  test('names every error code once, and no other', () => {
    const code = readFileSync(join(root, 'packages/onceward/src/errors.ts'), 'utf8')
    const declared = [...code.matchAll(/^ {2}\| '([a-z_]+)'$/gm)].map(([, one]) => one)
    const described = [...generated['reference/errors.md']!.matchAll(/^\| `([a-z_]+)` \|/gm)].map(
      ([, one]) => one,
    )
    assert.ok(declared.length > 10)
    assert.deepEqual(described.sort(), declared.sort())
  })

  test('names every key of the policy file once, and no other', () => {
    const described = [...generated['reference/policy.md']!.matchAll(/^\| `([^`]+)` \|/gm)].map(
      ([, one]) => one,
    )
    const known = policyKeys.map(({ key }) => key.replaceAll('*', '<name>'))
    assert.ok(known.length > 50)
    assert.deepEqual(described.sort(), known.sort())
  })

  test('names every command and every option once, and no other', async () => {
    const commands = everyCommand(await createProgram()).slice(1)
    const headings = [...generated['reference/cli.md']!.matchAll(/^##+ ([a-z -]+)$/gm)]
    assert.equal(headings.length, commands.length)
    const options = commands.flatMap(command => command.options.map(option => `\`${option.flags}\``))
    const described = [...generated['reference/cli.md']!.matchAll(/^\| (`-[^|]+?`) \|/gm)].map(
      ([, one]) => one,
    )
    assert.deepEqual(described.sort(), options.sort())
  })
})
