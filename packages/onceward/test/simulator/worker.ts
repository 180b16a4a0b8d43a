import { parentPort } from 'node:worker_threads'
import { runSimulation, type SimulationOptions } from 'onceward/testing'

/**
 * Runs simulations in a thread of their own: the test runner's hooks on promises would more than double their
 * time.
 */
parentPort!.on('message', (options: SimulationOptions) => {
  runSimulation(options).then(
    report => parentPort!.postMessage({ report }),
    error => parentPort!.postMessage({ error: String(error?.stack ?? error) }),
  )
})
