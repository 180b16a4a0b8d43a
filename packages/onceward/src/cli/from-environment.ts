import type { Command, Option } from 'commander'
import { OncewardError } from '../errors.ts'

/** Variables with another meaning than their option, or read elsewhere. */
const named: Readonly<Record<string, string>> = {
  '--no-metrics': 'ONCEWARD_METRICS_PORT=off',
  '--policy': 'ONCEWARD_POLICY',
  '--metrics-port': 'ONCEWARD_METRICS_PORT',
}

const yes = ['true', '1']
const no = ['false', '0']

/**
 * Gives each option of a service a variable of its own: `--log-level` is `ONCEWARD_LOG_LEVEL`. A container
 * image then needs no command line of its own. An option that is given wins. Lists are separated by commas.
 */
export function fromEnvironment(command: Command): Command {
  for (const option of command.options) {
    const variable = environmentNameOf(option)
    const text = variable === undefined || option.long! in named ? undefined : process.env[variable]
    if (text === undefined || text === '') continue
    const value = option.required || option.optional ? valueIn(option, text) : switchIn(variable!, text)
    // A list that is given replaces its default, and would be added to any other value.
    if (option.variadic) option.defaultValue = value
    command.setOptionValueWithSource(option.attributeName(), value, 'env')
  }
  return command
}

/** The variable of an option, for the pages. */
export function environmentNameOf({ long }: Option): string | undefined {
  if (long === undefined || long === '--help') return undefined
  return named[long] ?? `ONCEWARD_${long.slice(2).replaceAll('-', '_').toUpperCase()}`
}

/** For failures before an option could be read. */
export function isJsonWanted(args: readonly string[]): boolean {
  const service = args[2] === 'run' || args[2] === 'relay'
  return args.includes('--json') || (service && yes.includes(process.env.ONCEWARD_JSON ?? ''))
}

function switchIn(variable: string, text: string): boolean | undefined {
  if (yes.includes(text)) return true
  if (no.includes(text)) return undefined
  throw new OncewardError('usage', `${variable} must be true or false, not "${text}". Nothing was started.`)
}

function valueIn({ long, variadic, argChoices }: Option, text: string): string | string[] {
  const items = variadic ? text.split(',').map(item => item.trim()) : [text]
  const unknown = items.find(item => argChoices !== undefined && !argChoices.includes(item))
  if (unknown === undefined) return variadic ? items : text
  throw new OncewardError(
    'usage',
    `"${unknown}" is not a value of ${long}: use ${argChoices!.join(', ')}. Nothing was started.`,
  )
}
