import { broken, type Exhibit, payments } from './broken.ts'

export default broken(
  'time_key',
  ({ message, effects }) => {
    effects.external('gateway', { key: `capture-${Date.now()}`, body: { amount: message.amount } })
  },
  { effect: { external: { gateway: { url: 'https://gateway.example/captures' } } } },
)

export const exhibit: Exhibit = {
  mistake: 'the idempotency key of a call contains the time',
  tables: '',
  samples: payments,
  only: [],
  says: /The key calls\.key gets its value from the clock or from random numbers/,
}
