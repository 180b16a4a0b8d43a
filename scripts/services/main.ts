import { parseArgs } from 'node:util'
import {
  ensureServices,
  type Service,
  type ServiceName,
  serviceNames,
  serviceStatus,
  stopService,
} from './services.ts'

const usage = `Usage: npm run services -- up [names…] | down [names…] | status [--json]
Services: ${serviceNames.join(', ')} (all when none is named)`

const say = (line: string) => process.stderr.write(`${line}\n`)

function describe(service: Service & { pid?: number }): string {
  if ('unavailable' in service) return `${service.name}: ${service.unavailable}`
  const more = [service.managementUrl, service.streamUrl].filter(Boolean).join('  ')
  const pid = service.pid ? ` (process ${service.pid})` : ''
  return `${service.name}: ${service.url}  ${more}  via ${service.via}${pid}`.replaceAll(/ {3,}/g, '  ')
}

function chosen(names: string[]): ServiceName[] {
  const unknown = names.filter(name => !serviceNames.includes(name as ServiceName))
  if (unknown.length > 0) throw new Error(`There is no service ${unknown.join(', ')}.\n${usage}`)
  return names.length > 0 ? (names as ServiceName[]) : [...serviceNames]
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'boolean' } },
    allowPositionals: true,
  })
  const [verb, ...names] = positionals
  const show = (services: (Service & { pid?: number })[]) =>
    console.log(values.json ? JSON.stringify(services, null, 2) : services.map(describe).join('\n'))
  if (verb === 'up') {
    const services = await ensureServices(chosen(names), { log: say })
    show(services)
    return services.some(service => 'unavailable' in service) ? 1 : 0
  }
  if (verb === 'down') {
    await Promise.all(chosen(names).map(name => stopService(name, say)))
    return 0
  }
  if (verb === 'status') {
    show(await serviceStatus())
    return 0
  }
  say(usage)
  return 2
}

try {
  process.exitCode = await main()
} catch (error) {
  say((error as Error).message)
  process.exitCode = 1
}
