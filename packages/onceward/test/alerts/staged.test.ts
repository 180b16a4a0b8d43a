import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogue, type MetricSpec, prometheusName } from '../../src/telemetry/catalogue.ts'
import { backlogSeen } from './staged-backlog.ts'
import { campaignSeen } from './staged-campaign.ts'
import { deathsSeen } from './staged-deaths.ts'
import { healthySeen } from './staged-healthy.ts'
import { troubleSeen } from './staged-trouble.ts'
import { upkeepSeen } from './staged-upkeep.ts'

test('every counter and gauge is seen above zero against real servers', () => {
  const seen = [
    ...[...healthySeen, ...troubleSeen, ...deathsSeen, ...campaignSeen, ...upkeepSeen],
    ...backlogSeen,
  ].map(([name]) => name)
  const unseen = (Object.values(catalogue) as readonly MetricSpec[])
    .filter(({ kind }) => kind !== 'histogram')
    .map(prometheusName)
    .filter(name => !seen.includes(name))
  assert.deepEqual(unseen, [])
})

test('each end of a position commit is seen', () => {
  const ends = [...troubleSeen, ...upkeepSeen].filter(
    ([name]) => name === prometheusName(catalogue.positionCommits),
  )
  assert.deepEqual(
    ends.map(([, { status }]) => status),
    ['success', 'failure'],
  )
})
