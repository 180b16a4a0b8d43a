import { manyConsumers } from '../curves/consumers.ts'
import { effectContenders } from '../effects/contests.ts'
import { failureContenders } from '../failure/failure.ts'
import type { Place } from '../place.ts'
import type { Consume, Task } from './contender.ts'
import { contenders } from './contenders.ts'

// One contender in a process of its own: it gets the address, then one task per round.
const [name, place] = process.argv.slice(2)
const contender = [...contenders, ...effectContenders, ...failureContenders, ...manyConsumers].find(
  candidate => candidate.name === name,
)
if (contender === undefined || place === undefined) throw new Error(`there is no contender ${name}`)
const opening: Promise<Consume> = contender.open(JSON.parse(place) as Place)

process.on('message', (task: Task) => {
  opening
    .then(async consume => {
      const before = process.cpuUsage()
      const seconds = await consume(task)
      const { user, system } = process.cpuUsage(before)
      return { seconds, cpuSeconds: (user + system) / 1e6 }
    })
    .then(
      spent => process.send!(spent),
      (error: Error) => process.send!({ error: error.stack ?? String(error) }),
    )
})
process.on('disconnect', () => process.exit(0))
