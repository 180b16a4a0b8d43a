import { broken, type Exhibit, payments } from './broken.ts'

let published = 0

export default broken(
  'counted_event',
  ({ message, effects }) => {
    published++
    effects.publish('booked', { body: { amount: message.amount }, headers: { number: String(published) } })
  },
  { effect: { publish: { booked: { broker: 'kafka', topic: 'booked' } } } },
)

export const exhibit: Exhibit = {
  mistake: 'a header of a published message comes from a counter in memory',
  tables: '',
  samples: payments,
  only: ['rollback'],
  says: /The handler keeps something in memory between messages/,
}
