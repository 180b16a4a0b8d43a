import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { migrations } from '../../src/drivers/postgres/migrations/index.ts'

/** Every migration that has landed, with the digest of its SQL. Only added to. */
const landed = [
  {
    version: 1,
    name: 'first set',
    sha256: 'a0c0f53cc9b6200e4dc49f5ff15818c274d42e641aea4bb6b12d6e0d64ce1480',
  },
]

const described = migrations.map(({ version, name, sql }) => ({
  version,
  name,
  sha256: createHash('sha256').update(sql).digest('hex'),
}))

describe('migrations are only added', () => {
  for (const known of landed)
    test(`${known.version}, "${known.name}", is as it landed`, () => {
      assert.deepEqual(
        described.find(({ version }) => version === known.version),
        known,
        `Migration ${known.version}, "${known.name}", has landed and may not change: databases have it already. Take the change back, and make it in a new migration at the end of migrations/index.ts.`,
      )
    })

  test('each that is new is listed here', () => {
    const added = described.filter(({ version }) => landed.every(known => known.version !== version))
    assert.deepEqual(added, [], 'Add these to `landed` in this file, once they are as they should stay.')
  })

  test('versions count up by one, and none asks for code that comes after it', () => {
    assert.deepEqual(
      migrations.map(({ version }) => version),
      migrations.map((_, index) => index + 1),
    )
    for (const { version, compatibleFrom } of migrations) assert.ok(compatibleFrom <= version, `${version}`)
  })
})
