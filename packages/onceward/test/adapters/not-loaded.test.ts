import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const optional = ['kysely', 'drizzle-orm', 'knex']

/** The optional libraries that are loaded when these entry points are imported in a separate process. */
async function loadedBy(...doors: readonly string[]): Promise<string[]> {
  const program = `
    import { registerHooks } from 'node:module'
    const asked = new Set()
    registerHooks({
      resolve(specifier, context, next) {
        const library = ${JSON.stringify(optional)}.find(one => specifier === one || specifier.startsWith(one + '/'))
        if (library !== undefined) asked.add(library)
        return next(specifier, context)
      },
    })
    for (const door of ${JSON.stringify(doors)}) await import(door)
    console.log(JSON.stringify([...asked]))
    process.exit()`
  const { stdout } = await run(
    process.execPath,
    ['--conditions=@onceward/source', '--input-type=module', '--eval', program],
    { cwd: import.meta.dirname },
  )
  return JSON.parse(stdout)
}

test('no library is loaded unless its entry point is imported', async () => {
  const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    exports: Record<string, unknown>
  }
  const modules = Object.keys(exports).filter(door => !door.endsWith('.json'))
  const doors = modules.map(door => `onceward${door.slice(1)}`)
  const others = doors.filter(door => !/kysely|drizzle|knex/.test(door))
  assert.equal(others.length, doors.length - 3)
  assert.deepEqual(await loadedBy(...others), [])
})

test('each entry point loads its own library and no other', async () => {
  assert.deepEqual(await loadedBy('onceward/kysely'), ['kysely'])
  assert.deepEqual(await loadedBy('onceward/drizzle'), ['drizzle-orm'])
  assert.deepEqual(await loadedBy('onceward/knex'), [], 'Knex is used only through the given instance')
})
