import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer } from 'onceward'
import { runbooksFor } from 'onceward/operations'
import { until } from 'onceward/testing'
import invoiceBooking from '../../../examples/09-parking-drill/invoice-booking.ts'
import { alerts } from '../../onceward/src/telemetry/alerts/alerts.ts'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { addOtherTeams, beat } from './bench/busy-database.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

interface Alert {
  readonly name: string
  readonly severity: string
  readonly summary: string
  readonly runbook: string
}

const own = 'invoice_booking'

describe('alerts, runbooks and checks in the console', await skipWithout('postgres'), () => {
  let incident: Incident
  let ann: Client

  before(async () => {
    incident = await openIncident()
    await addOtherTeams(incident)
    const { pool } = incident
    await pool.query(`
      insert into onceward.brake (consumer_id, run_id, message_type, cause, messages, handler_version)
      select c.id, min(r.id), 'ParcelScanned', 'a cause', 20, '1' from onceward.consumer c
      join onceward.run r on r.consumer_id = c.id where c.name = 'parcel_tracking' group by c.id`)
    await beat(incident)
    const served = await incident.serve({ auth: { kind: 'link' } })
    ann = await Client.signIn(served.linkFor('ann'))
  })
  after(() => incident?.close())

  const alertsOn = async (name: string) => (await ann.get(`consumers/${name}`)).body.alerts as Alert[]
  const named = async (name: string) =>
    (await alertsOn(name)).map(one => `${one.name} ${one.severity} ${one.summary}`).toSorted()

  it('are active by what the database has, for each consumer', async () => {
    assert.deepEqual(await named('payment_capture'), [
      'OncewardConflict critical 2 messages with a known id and different content',
      'OncewardDeadLetters critical 128 messages set aside',
      'OncewardUnknownEffects critical 3 calls that failed or have an unknown outcome',
    ])
    assert.deepEqual(await named('parcel_tracking'), [
      'OncewardBraked critical paused event types: ParcelScanned',
      'OncewardDeadLetters warning 17 messages set aside',
    ])
    assert.deepEqual(await named('order_mail'), [
      'OncewardPaused warning paused: the circuit breaker of mail-gateway is open',
    ])
    assert.deepEqual(await named('stock_levels'), ['OncewardDown warning no process runs'])
  })

  it('have the reason that the contract gives a message; those behind another one raise none', async () => {
    assert.equal((await ann.get(`messages?q=consumer:${own}`)).body.rows.length, 8)
    assert.deepEqual(await named(own), ['OncewardDeadLetters critical 3 messages set aside'])
  })

  it('are the same number in the overview', async () => {
    const { consumers } = (await ann.get('overview')).body
    for (const { name, alerts } of consumers as { name: string; alerts: number }[])
      assert.equal(alerts, (await alertsOn(name)).length, name)
  })

  it('follow the objectives of the contract: few may wait, but not for long', async () => {
    const { objectives, ...declared } = invoiceBooking.declared
    const patient = { ...declared, objectives: { ...objectives, setAsideMax: 3, setAsideAgeMax: '30d' } }
    const contracts = [defineConsumer(patient as typeof declared) as never]
    const served = await incident.serve({ auth: { kind: 'link' }, contracts })
    const bob = await Client.signIn(served.linkFor('bob'))
    const names = async () =>
      ((await bob.get(`consumers/${own}`)).body.alerts as Alert[]).map(({ name }) => name)
    assert.deepEqual(await names(), [])
    await incident.pool.query(
      `update onceward.held h set first_at = first_at - interval '90 days'
       from onceward.consumer c where c.id = h.consumer_id and c.name = '${own}'`,
    )
    await until('it is active', async () => (await names()).length > 0)
    assert.deepEqual(await names(), ['OncewardSetAsideTooLong'])
  })

  it('end with their cause', async () => {
    await incident.pool.query(`update onceward.brake set ended_at = clock_timestamp()`)
    await until('the pause is over', async () =>
      (await alertsOn('parcel_tracking')).every(({ name }) => name !== 'OncewardBraked'),
    )
    await incident.pool.query(`update onceward.run set paused_reason = null, paused_since = null`)
    await until('it continues', async () =>
      (await alertsOn('order_mail')).every(({ name }) => name !== 'OncewardPaused'),
    )
  })

  it('have their runbook beside them, with commands for this consumer', async () => {
    const consumers = ['payment_capture', 'parcel_tracking', 'order_mail', 'stock_levels', own]
    const active = (await Promise.all(consumers.map(alertsOn))).flat()
    assert.ok(active.length >= 5)
    const known = new Set<string>(alerts.map(alert => alert.name))
    for (const { name, runbook } of active) {
      const answer = await ann.get(`consumers/${own}/runbooks/${runbook}`)
      assert.equal(answer.status, 200, name)
      assert.equal(answer.body.name, runbook)
      assert.equal(runbooksFor(invoiceBooking as never, name)[0]!.name, runbook, `the library's for ${name}`)
      assert.ok(known.has(name), `${name} is an alert of the rules for Prometheus`)
      assert.match(answer.body.markdown, /^## [\s\S]*consumer `invoice_booking`[\s\S]*\*\*Resolved when\*\*/)
    }
    const missing = await ann.get(`consumers/${own}/runbooks/nonsense`)
    assert.deepEqual([missing.status, missing.body.error.code], [404, 'not_found'])
    const without = await ann.get('consumers/order_mail/runbooks/paused')
    assert.deepEqual([without.status, without.body.error.code], [409, 'no_contract'])
  })

  it('check a contract against the servers, at most once a minute', async () => {
    const first = await ann.get(`consumers/${own}/check`)
    assert.equal(first.status, 200, first.text)
    const { at, findings } = first.body
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
    assert.ok(findings.length > 0)
    for (const { id, severity } of findings)
      assert.deepEqual([typeof id, typeof severity], ['string', 'string'])
    assert.equal((await ann.get(`consumers/${own}/check`)).body.at, at)
    const without = await ann.get('consumers/order_mail/check')
    assert.deepEqual([without.status, without.body.error.code], [409, 'no_contract'])
    assert.equal((await ann.get('consumers/nothing/check')).status, 409)
  })
})
