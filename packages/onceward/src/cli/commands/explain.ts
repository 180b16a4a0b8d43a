import { Command } from 'commander'
import { OncewardError } from '../../errors.ts'
import { explain } from '../../evidence/explain.ts'
import type { ExplainQuestion } from '../../evidence/explanation.ts'
import { loadConsumer } from '../../runtime/load-consumer.ts'
import { withPool } from '../database.ts'
import { explanationText } from '../explain-text.ts'
import { print } from '../output.ts'

interface Flags {
  message?: string
  businessKey?: string
  aggregate?: string
  aggregateVersion?: string
  effect?: string
  target?: string
  row?: string
  consumer?: string
  contract?: string
  payload?: boolean
  json?: boolean
}

/** Explains a message, effect or row. Exit code 1 when no record was found. */
export function explainCommand(): Command {
  return new Command('explain')
    .description('explain a message, effect or row: its deliveries, decisions, versions, acts and effects')
    .option('--message <id>', 'by message id')
    .option('--business-key <key>', 'by business key')
    .option('--aggregate <id>', 'by aggregate; without --contract, only held messages are searched')
    .option('--aggregate-version <version>', 'only the messages up to this version')
    .option('--effect <key>', 'by the key of an external effect')
    .option('--target <name>', 'only for this target')
    .option(
      '--row <table:key>',
      'by a row that records its cause: cases:42, or lines:{"order_id": 7, "line": 1}',
    )
    .option('--consumer <name>', "only this consumer's")
    .option('--contract <file>', 'consumer file; its tables and targets are searched too')
    .option('--payload', 'include bodies and column values')
    .option('--json', 'print one JSON object')
    .action(async (flags: Flags) => {
      const question = questionOf(flags)
      const contract = flags.contract === undefined ? undefined : await loadConsumer(flags.contract)
      await withPool(flags.json === true, async pool => {
        const { consumer, payload } = flags
        const answer = await explain(pool, question, { consumer, contract: contract as never, payload })
        const ok = answer.stories.length > 0
        if (!ok) process.exitCode = 1
        print(flags.json === true, { ok, ...answer }, () => explanationText(answer))
      })
    })
}

function questionOf(flags: Flags): ExplainQuestion {
  const { message, businessKey, aggregate, effect, row, aggregateVersion, target } = flags
  const asked = Object.entries({ message, businessKey, aggregate, effect, row }).filter(
    ([, value]) => value !== undefined,
  )
  if (asked.length !== 1)
    throw usage('Pass exactly one of --message, --business-key, --aggregate, --effect and --row.')
  if (aggregateVersion !== undefined && aggregate === undefined)
    throw usage('--aggregate-version requires --aggregate.')
  if (target !== undefined && effect === undefined) throw usage('--target requires --effect.')
  if (message !== undefined) return { by: 'message', id: message }
  if (businessKey !== undefined) return { by: 'business key', key: businessKey }
  if (aggregate !== undefined) return { by: 'aggregate', id: aggregate, version: aggregateVersion ?? null }
  if (effect !== undefined) return { by: 'effect', key: effect, target: target ?? null }
  return rowOf(row!)
}

function rowOf(text: string): ExplainQuestion {
  const at = text.indexOf(':')
  const [table, key] = [text.slice(0, at), text.slice(at + 1)]
  if (at < 1 || key === '') throw usage('--row takes table:key, such as cases:42.')
  if (!key.startsWith('{')) return { by: 'row', table, key }
  try {
    const columns = Object.entries(JSON.parse(key) as Record<string, unknown>)
    return {
      by: 'row',
      table,
      key: Object.fromEntries(columns.map(([name, value]) => [name, String(value)])),
    }
  } catch {
    throw usage('--row takes the columns of a key as JSON: lines:{"order_id": 7, "line": 1}.')
  }
}

function usage(why: string): OncewardError {
  return new OncewardError('usage', `${why} Nothing was done; see "onceward explain --help".`)
}
