import { risks } from '../words.ts'
import { wholeNumber } from './amount-kinds.ts'
import { codeOnly } from './code-kinds.ts'
import { unchecked } from './kind.ts'
import { option } from './option.ts'
import { text, word } from './text-kinds.ts'

const name = text('must match ^[a-z][a-z0-9_]{0,47}$ (lower case, digits, underscores)', one =>
  /^[a-z][a-z0-9_]{0,47}$/.test(one),
)
const owner = text('must name the team that answers for this consumer and its dead letters')
const producer = text('must name the team that sends these messages and is told of broken ones')
const inCode = { elsewhere: 'is a function and stays in TypeScript' }

/** Who it is. */
export const consumerOptions = [
  option('name', name, null, {
    missing: true,
    policyKey: null,
    elsewhere: 'is the name under consumers',
  }),
  option('owner', owner, 'the team that answers for this consumer and its dead letters', { missing: true }),
  // Not filled in: runbooks name a producer only where the contract does.
  option('producer', producer, 'the team that sends the messages; told of broken ones', {
    defaultText: 'the owner',
  }),
  option('description', unchecked(text()), 'what it is for, in a sentence'),
  option('risk', word(risks), 'what a wrong or lost effect costs; decides defaults', { missing: true }),
  option('generation', wholeNumber(1, 32_767), 'with the name it names the dedup memory', { default: 1 }),
  option('handlerVersion', unchecked(text()), 'recorded with every run', { default: 'unversioned' }),
  option('handle', codeOnly('must be a function'), null, inCode),
  option('handleBatch', codeOnly('must be a function'), null, inCode),
]
