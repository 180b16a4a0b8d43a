import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { installArguments, type Lock, missingPackages } from '../../../../scripts/bootstrap/install-need.mjs'

const linux = { os: 'linux', cpu: 'x64', libc: 'glibc' }
const lock: Lock = {
  packages: {
    '': { version: '0.0.0' },
    'packages/onceward': { version: '0.1.0' },
    'node_modules/onceward': { resolved: 'packages/onceward', link: true },
    'node_modules/pg': { version: '8.0.0', integrity: 'sha512-a' },
    'node_modules/zod': { version: '4.0.0', dev: true },
    'node_modules/server-linux': { version: '18.0.0', optional: true, os: ['linux'], cpu: ['x64'] },
    'node_modules/server-mac': { version: '18.0.0', optional: true, os: ['darwin'] },
    'node_modules/tool-musl': { version: '1.0.0', optional: true, os: ['linux'], libc: ['musl'] },
    'packages/onceward/node_modules/pg': { version: '7.0.0' },
  },
}

const without = (...paths: string[]): Lock => ({
  packages: Object.fromEntries(Object.entries(lock.packages).filter(([path]) => !paths.includes(path))),
})

describe('what must be installed', () => {
  it('is everything for this platform when nothing is', () => {
    assert.deepEqual(missingPackages(lock, undefined, 'everything', linux), [
      'node_modules/onceward',
      'node_modules/pg',
      'node_modules/zod',
      'node_modules/server-linux',
      'packages/onceward/node_modules/pg',
    ])
  })

  it('leaves development packages out of production', () => {
    assert.deepEqual(missingPackages(lock, without('node_modules/zod'), 'production', linux), [])
    assert.deepEqual(missingPackages(lock, without('node_modules/zod'), 'everything', linux), [
      'node_modules/zod',
    ])
  })

  it('is nothing in production when everything is there', () => {
    assert.deepEqual(missingPackages(lock, lock, 'production', linux), [])
  })

  it('ignores optional packages of other platforms and wants our own', () => {
    const others = without('node_modules/server-mac', 'node_modules/tool-musl')
    assert.deepEqual(missingPackages(lock, others, 'everything', linux), [])
    const ours = without('node_modules/server-linux')
    assert.deepEqual(missingPackages(lock, ours, 'production', linux), ['node_modules/server-linux'])
  })

  it('notices another version and other content under one version', () => {
    const older = { packages: { ...lock.packages, 'node_modules/pg': { version: '7.9.0' } } }
    const altered = {
      packages: { ...lock.packages, 'node_modules/pg': { version: '8.0.0', integrity: 'sha512-b' } },
    }
    assert.deepEqual(missingPackages(lock, older, 'production', linux), ['node_modules/pg'])
    assert.deepEqual(missingPackages(lock, altered, 'production', linux), ['node_modules/pg'])
  })

  it('never lets packages run install scripts', () => {
    assert.ok(installArguments('production').includes('--ignore-scripts'))
    assert.ok(installArguments('everything').includes('--ignore-scripts'))
    assert.ok(installArguments('production').includes('--omit=dev'))
  })
})
