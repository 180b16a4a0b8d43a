import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createQueue, hint, publish, queueDepth } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { queue } from '../../../examples/09-parking-drill/invoice-booking.ts'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { conducted } from '../src/server/api/conduct-redrive.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const consumer = 'invoice_booking'

describe('a redrive with a ramp', await skipWithout('postgres'), () => {
  let incident: Incident
  let ann: Client

  before(async () => {
    incident = await openIncident()
    await createQueue(incident.pool, queue)
    const invoices = Array.from({ length: 30 }, (_, n) => ({
      body: { messageId: `ramp-${n}`, accountId: `new-${n}`, currency: 'EUR', amount: 1 },
      key: `new-${n}`,
    }))
    await publish(incident.pool, queue, invoices)
    await hint(incident.pool, queue)
    await until('all are settled', async () => (await queueDepth(incident.pool, queue)).messages === 0)
    const served = await incident.serve({ auth: { kind: 'link' } })
    ann = await Client.signIn(served.linkFor('ann'))
  })
  after(() => incident?.close())

  it('stops after the first key that is parked again, and continues with a ramp after the cause is fixed', async () => {
    const q = `consumer:${consumer} code:no_account`
    const { body: selection } = await ann.post('selections', { consumer, q })
    assert.equal(selection.count, 31)
    const { requestId } = (await ann.post(`selections/${selection.id}/redrive`, { because: 'a try' })).body
    const redrive = async () => (await ann.get(`redrives/${requestId}`)).body
    await until('it has stopped', async () => (await redrive()).state === 'stopped')
    const stopped = await redrive()
    // The first is south-1, and two messages of its key were behind it.
    assert.deepEqual(stopped.outcomes, { 'parked again': 3, waits: 30 })
    assert.match(stopped.note, /^3 of 3 tried messages are parked again$/)
    const restarted = await incident.serve({ auth: { kind: 'link' } })
    const bob = await Client.signIn(restarted.linkFor('bob'))
    conducted.clear()
    assert.equal((await bob.get(`redrives/${requestId}`)).body.note, stopped.note, 'after a restart')

    await incident.pool.query(`insert into account (id) select 'new-' || n from generate_series(0, 29) n`)
    await incident.pool.query(`insert into account (id) values ('south')`)
    await ann.post(`redrives/${requestId}/continue`, { because: 'accounts opened' })
    await until('the rest is applied', async () => (await redrive()).outcomes.applied >= 30)
    const { rows } = await incident.pool.query(
      `select count(*)::int from booking where invoice_id like 'ramp-%'`,
    )
    assert.equal(rows[0].count, 30)
    await until('its ramp is at its end', async () => (await redrive()).state === 'moved')
    assert.equal((await redrive()).note, null)
  })
})
