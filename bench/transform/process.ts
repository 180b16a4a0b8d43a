import { type TransformTask, transformContenders } from './contenders.ts'

// One run of one contender in a process of its own.
const [name, text] = process.argv.slice(2)
const before = process.cpuUsage()
const seconds = await transformContenders[name!]!(JSON.parse(text!) as TransformTask)
const { user, system } = process.cpuUsage(before)
process.send!({ seconds, cpuSeconds: (user + system) / 1e6 })
process.disconnect()
