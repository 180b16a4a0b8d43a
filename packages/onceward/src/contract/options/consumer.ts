import { risks } from '../words.ts'
import { wholeNumber } from './amount-kinds.ts'
import { codeOnly } from './code-kinds.ts'
import { unchecked } from './kind.ts'
import { option } from './option.ts'
import { text, word } from './text-kinds.ts'

const name = text('must match ^[a-z][a-z0-9_]{0,47}$ (lower case, digits, underscores)', one =>
  /^[a-z][a-z0-9_]{0,47}$/.test(one),
)
const owner = text('must name the team responsible for this consumer and its dead letters')
const producer = text('must name the team that sends these messages and is notified of broken ones')
const inCode = { elsewhere: 'is a function and stays in TypeScript' }

/** The consumer itself. */
export const consumerOptions = [
  option('name', name, null, {
    missing: true,
    policyKey: null,
    elsewhere: 'is the name under consumers',
  }),
  option('owner', owner, 'the team responsible for this consumer and its dead letters', { missing: true }),
  // No default value: runbooks name a producer only if the contract does.
  option('producer', producer, 'the team that sends the messages; alerts about broken ones name it', {
    defaultText: 'the owner',
  }),
  option('description', unchecked(text()), 'the purpose of the consumer, in one sentence'),
  option('risk', word(risks), 'the cost of a wrong or lost effect; other defaults depend on it', {
    missing: true,
  }),
  option('generation', wholeNumber(1, 32_767), "together with the name, identifies the consumer's markers", {
    default: 1,
  }),
  option('handlerVersion', unchecked(text()), 'recorded with every run', { default: 'unversioned' }),
  option('handle', codeOnly('must be a function'), null, inCode),
  option('handleBatch', codeOnly('must be a function'), null, inCode),
]
