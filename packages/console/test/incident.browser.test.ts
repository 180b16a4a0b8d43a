import { skipWithoutBrowser } from './bench/browser.ts'
import { incidentStory } from './bench/incident-story.ts'

incidentStory('a queue of PostgreSQL', await skipWithoutBrowser(), async () => undefined)
