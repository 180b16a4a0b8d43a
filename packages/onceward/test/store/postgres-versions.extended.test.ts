import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { postgresVersions } from '../../../../scripts/services/postgres-versions.ts'
import { programsOf, startPostgres } from '../services/other-postgres.ts'
import { runElsewhere } from '../services/run-elsewhere.ts'

/** All that depends on the server alone: the schema, the conformance of store and queue, and the fences. */
const files = ['store/migrate.test.ts', 'conformance/postgres.test.ts', 'store/fences.test.ts']

for (const version of postgresVersions) {
  const programs = await programsOf(version)
  const skip = 'skip' in programs ? programs : {}

  describe(`PostgreSQL ${version}`, { timeout: 1_800_000, ...skip }, () => {
    let server: Awaited<ReturnType<typeof startPostgres>>
    before(async () => {
      if ('bin' in programs) server = await startPostgres(programs.bin)
    })
    after(() => server?.close())

    for (const file of files)
      it(`passes ${file}`, async () => {
        await runElsewhere(file, { ONCEWARD_POSTGRES_URL: server.url })
      })

    it('compiles no statement of ours just in time', async () => {
      assert.deepEqual(await server.compiled(), [])
    })
  })
}
