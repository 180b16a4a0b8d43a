import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { doorsOf, oldestNode } from './doors.ts'

export const versionCheck = 'node-version.cjs'

/**
 * What `require('onceward')` finds. Node loads the same modules as `import`, so nothing exists twice. A Node
 * that is too old for this gets an error with both versions instead of a missing function somewhere inside.
 */
export function writeRequireDoors(home: string): void {
  const dist = join(home, 'dist')
  writeFileSync(join(dist, versionCheck), checkText(oldestNode(home)))
  for (const { name } of doorsOf(home)) {
    const up = '../'.repeat(name.split('/').length - 1) || './'
    const own = `./${name.split('/').at(-1)}.js`
    const code = `'use strict'\nrequire('${up}${versionCheck}')\nmodule.exports = require('${own}')\n`
    writeFileSync(join(dist, `${name}.cjs`), code)
    writeFileSync(join(dist, `${name}.d.cts`), `export * from '${own}'\n`)
  }
}

function checkText(oldest: string): string {
  const [major, minor] = oldest.split('.').map(Number)
  return `'use strict'
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < ${major} || (major === ${major} && minor < ${minor})) {
  const error = new Error(
    'onceward needs Node ${oldest} or newer, and this is Node ' + process.versions.node + '. Nothing was started.',
  )
  error.stack = 'Error: ' + error.message
  throw error
}
`
}
