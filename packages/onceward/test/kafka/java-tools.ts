import { spawn } from 'node:child_process'
import { classpath, installKafka, shortLived } from '../../../../scripts/services/kafka.ts'

/** Runs one of Kafka's own tools to its end; gives what it printed. */
export async function javaTool(name: string, args: readonly string[], input = ''): Promise<string> {
  const java = await installKafka(line => console.error(line))
  const flags = ['-Xmx128m', ...shortLived, '-Dorg.slf4j.simpleLogger.defaultLogLevel=error']
  const child = spawn(java, [...flags, '-cp', classpath(), `org.apache.kafka.tools.${name}`, ...args])
  let [printed, complained] = ['', '']
  child.stdout.on('data', (bytes: Buffer) => {
    printed += bytes.toString()
  })
  child.stderr.on('data', (bytes: Buffer) => {
    complained += bytes.toString()
  })
  child.stdin.end(input)
  const code = await new Promise(resolve => child.on('close', resolve))
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${complained.slice(-1_000)}`)
  return printed
}
