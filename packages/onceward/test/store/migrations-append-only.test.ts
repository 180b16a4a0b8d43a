import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { migrations } from '../../src/drivers/postgres/migrations/index.ts'

/** Every migration that has landed, with the digest of its SQL. Append-only. */
const landed = [
  {
    version: 1,
    name: 'first set',
    sha256: '2c2062afaa2e288cd9c8f7da79b286de1d201eb8d95e5982b3a92117fe5d28c2',
  },
  {
    version: 2,
    name: 'evidence',
    sha256: 'd591a5241237f2be31ab84e5a57207a7aeb875cb8eae20ffa768e49d54fa42bc',
  },
  {
    version: 3,
    name: 'tenants',
    sha256: 'aac387b62f638b05acb1534472235f901e595a8d0cd164d265528e36f1329db3',
  },
  {
    version: 4,
    name: 'console',
    sha256: 'c2737a5180f9124cf912bd445d238b80bd3316bbbc6291e2af996d7532055837',
  },
  {
    version: 5,
    name: 'brakes',
    sha256: '431f29dd49c1d6e7115ec40912e2e0b372a2b457a83c260d83ec9ce419dd515e',
  },
  {
    version: 6,
    name: 'first seen',
    sha256: 'aec385007a6264ef73389fb4c65f2930641b6bf801232056a6811503f99ada16',
  },
  {
    version: 7,
    name: 'erase audit',
    sha256: '74f031b5c8ff17f5453f526973fe70ed37feae4a803235dd3ab39ffdf5aff3b8',
  },
  {
    version: 8,
    name: 'console acts',
    sha256: 'db719ee58e8fe408b7d03370bfaefb3735263339a9e6793a6286a1cdff2f6e86',
  },
  {
    version: 9,
    name: 'pages',
    sha256: 'e0f16164c35d52cb6857705de6f46467c0fe3c972105150087b916d971df00fb',
  },
  {
    version: 10,
    name: 'tenant approval',
    sha256: '71eef91eeefe51d7b4298b363142fe214715ae8f81f51f5f80e0a755feff0653',
  },
  {
    version: 11,
    name: 'unknown schemas',
    sha256: '652afb37f144134649634cc89c220492a36a32c73100443bc86fa8d1e7045fcf',
  },
  {
    version: 12,
    name: 'publish',
    sha256: 'a599d348fb568a0a99dd6dea7080fdb423390b42a9214ddd3511e94cdf35065a',
  },
]

const described = migrations.map(({ version, name, sql }) => ({
  version,
  name,
  sha256: createHash('sha256').update(sql).digest('hex'),
}))

describe('migrations are append-only', () => {
  for (const known of landed)
    test(`${known.version}, "${known.name}", is as it landed`, () => {
      assert.deepEqual(
        described.find(({ version }) => version === known.version),
        known,
        `Migration ${known.version}, "${known.name}", has landed and may not change: databases already have it. Revert the change, and add a new migration at the end of migrations/index.ts.`,
      )
    })

  test('every new migration is listed here', () => {
    const added = described.filter(({ version }) => landed.every(known => known.version !== version))
    assert.deepEqual(added, [], 'Add these to `landed` in this file once they are final.')
  })

  test('versions are consecutive, and none requires a later version of the code', () => {
    assert.deepEqual(
      migrations.map(({ version }) => version),
      migrations.map((_, index) => index + 1),
    )
    for (const { version, compatibleFrom } of migrations) assert.ok(compatibleFrom <= version, `${version}`)
  })
})
