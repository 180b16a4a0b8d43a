import { render } from 'preact'
import './style/tokens.css'
import './style/base.css'
import './style/parts.css'
import './style/narrow.css'
import { App } from './app.tsx'
import { startSession } from './session.ts'

render(<App />, document.getElementById('app')!)
void startSession()
