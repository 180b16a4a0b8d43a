import { stripVTControlCharacters, styleText } from 'node:util'
import type { Log, LogFields, LogLevel } from '../environment.ts'
import { errorText, OncewardError } from '../errors.ts'
import { deceptive, escaped } from '../message/deceptive.ts'
import { jsonLine, textOf } from '../telemetry/log-line.ts'

/** Prints either one line of JSON or text. */
export function print(json: boolean, value: unknown, text: () => string): void {
  process.stdout.write(json ? `${escaped(JSON.stringify(value))}\n` : `${text()}\n`)
}

/** Prints an error as JSON or text and returns the exit code: 2 for invalid usage, 1 otherwise. */
export function reportFailure(error: unknown, json: boolean): number {
  const known = error instanceof OncewardError
  const code = known ? error.code : 'unexpected'
  const text = safe(known ? error.message : errorText(error))
  if (json) process.stdout.write(`${JSON.stringify({ ok: false, code, error: text })}\n`)
  else process.stderr.write(`${styleText('red', 'error')} ${text}\n`)
  if (!known && !json && error instanceof Error && process.env.ONCEWARD_DEBUG)
    process.stderr.write(`${error.stack}\n`)
  return exitCodeOf(code)
}

/** 2 for errors before any attempt: invalid usage or an invalid contract. 1 otherwise. */
export function exitCodeOf(code: string): 1 | 2 {
  return code === 'usage' || code === 'contract_invalid' ? 2 : 1
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
const colours = { debug: 'gray', info: 'cyan', warn: 'yellow', error: 'red' } as const

/**
 * Log lines on stderr, as JSON or short text. Values come from messages and are escaped.
 */
export function consoleLog(json: boolean, least: LogLevel = 'info'): Log {
  const isOn = (level: LogLevel) => levels.indexOf(level) >= levels.indexOf(least)
  const write =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (!isOn(level)) return
      const text = json
        ? jsonLine(level, message, fields, new Date())
        : `${styleText('gray', new Date().toISOString().slice(0, 19))} ${styleText(colours[level], level.padEnd(5))} ${escaped(message)} ${styleText('gray', textOf(fields))}`
      process.stderr.write(`${text}\n`)
    }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error'), isOn }
}

/** Untrusted text without terminal escapes and invisible characters. Line breaks stay. */
export function safe(text: string): string {
  return stripVTControlCharacters(text).replaceAll(deceptive, found => (found === '\n' ? found : '?'))
}

/** The same on one line, so that the text cannot imitate a line of output. */
export function oneLine(text: string): string {
  return safe(text).replaceAll('\n', ' ')
}

/** `1 message`, `2 messages`. */
export function counted(count: number | bigint | string, noun: string): string {
  return `${count} ${noun}${Number(count) === 1 ? '' : 's'}`
}
