import { render } from 'preact'
import './style/tokens.css'
import './style/base.css'
import './style/shell.css'
import './style/parts.css'
import './style/forms.css'
import './style/overview.css'
import './style/chart.css'
import './style/message.css'
import './style/prose.css'
import './style/dialog.css'
import './style/narrow.css'
import { App } from './app.tsx'
import { startSession } from './session.ts'

render(<App />, document.getElementById('app')!)
void startSession()
