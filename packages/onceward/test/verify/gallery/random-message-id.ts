import { randomUUID } from 'node:crypto'
import { broken, type Exhibit, payments } from './broken.ts'

export default broken(
  'random_event',
  ({ message, effects }) => {
    effects.publish('booked', { id: randomUUID(), body: { amount: message.amount } })
  },
  { effect: { publish: { booked: { broker: 'kafka', topic: 'booked' } } } },
)

export const exhibit: Exhibit = {
  mistake: 'a published message has a random id',
  tables: '',
  samples: payments,
  only: ['leak'],
  says: /The key publications\.key gets its value from the clock or from random numbers/,
}
