import type { Command, Option } from 'commander'
import { environmentNameOf } from '../../packages/onceward/src/cli/from-environment.ts'
import { createProgram } from '../../packages/onceward/src/cli/program.ts'
import { page, table } from './markdown.ts'

const program = await createProgram()

/** Commands that run for long: each option has a variable. `replay run` is none. */
const isService = (command: Command) =>
  ['run', 'relay'].includes(command.name()) && command.parent === program

export function cliPage(): string {
  return page(
    'Commands',
    '`onceward <command> --help` prints the same. Exit codes: 0 done, 1 failed, 2 refused or wrong use; commands that differ say so below or on the page of\n' +
      'their subject. Addresses come from the environment, never from arguments, which other users of a machine can read.',
    ['## Environment', environmentTable()].join('\n\n'),
    ...program.commands
      .filter(command => command.name() !== 'help')
      .flatMap(command => sections(command, '')),
  )
}

function sections(command: Command, parent: string): string[] {
  const name = `${parent}${command.name()}`
  const verbs = command.commands.filter(one => one.name() !== 'help')
  const usage = `\`onceward ${[parent.trim(), command.name(), command.usage()].filter(part => part !== '').join(' ')}\``
  const parts = [
    `${parent === '' ? '##' : '###'} ${name}`,
    sentence(command.description()),
    usage,
    ...tables(command),
  ]
  return [parts.join('\n\n'), ...verbs.flatMap(verb => sections(verb, `${name} `))]
}

function tables(command: Command): string[] {
  const args = command.registeredArguments.map(one => [`\`${one.name()}\``, one.description ?? ''])
  const options = command.options
    .filter(one => !one.hidden)
    .map(one => [`\`${one.flags}\``, optionText(one, isService(command))])
  const rows = [...args, ...options]
  return rows.length === 0 ? [] : [table(['argument or option', 'meaning'], rows)]
}

function optionText(option: Option, service: boolean): string {
  const { description, argChoices, defaultValue, defaultValueDescription, mandatory } = option
  const facts = [
    mandatory ? 'required' : '',
    argChoices ? `one of ${argChoices.map(choice => `\`${choice}\``).join(', ')}` : '',
    service ? `or \`${environmentNameOf(option)}\`` : '',
    defaultValue === undefined ? '' : `default ${defaultValueDescription ?? `\`${defaultValue}\``}`,
  ].filter(fact => fact !== '')
  return facts.length === 0 ? description : `${description} (${facts.join('; ')})`
}

/** The program keeps its list of variables as help text: one line each, name and meaning apart by spaces. */
function environmentTable(): string {
  let help = ''
  program.configureOutput({
    writeOut: text => {
      help += text
    },
  })
  program.outputHelp()
  const rows = [...help.matchAll(/^ {2}(ONCEWARD_\w+) +(.+)$/gm)].map(([, name, text]) => [
    `\`${name}\``,
    text!,
  ])
  return table(['variable', 'meaning'], rows)
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
