import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually, type Installation, run } from './installation.ts';

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));

/** A person at a terminal: a shell in a pseudo-terminal of its own. */
export interface Terminal {
  type(text: string): void;
  /** All that has been on the screen, without carriage returns. */
  screen(): string;
  /** The same with them. */
  raw(): string;
  /** Waits until the screen shows this behind what was waited for before; returns what is new. */
  until(pattern: RegExp | string): Promise<string>;
  resize(columns: number, rows: number): Promise<void>;
  close(): void;
}

/**
 * Opens a terminal with 100 columns and 30 rows whose `berth` is the built one. util-linux's script(1)
 * makes the pseudo-terminal.
 */
export async function openTerminal(berth: Installation): Promise<Terminal> {
  const child: ChildProcess = spawn('script', ['-qefc', 'stty cols 100 rows 30; tty; exec sh', '/dev/null'], {
    env: { ...process.env, BERTH_CONFIG: berth.config, PS1: '$ ', TERM: 'dumb' },
    stdio: 'pipe',
  });
  let output = '';
  let raw = '';
  let seen = 0;
  child.stdout?.on('data', (data: Buffer) => {
    raw += data.toString('utf8');
    output += data.toString('utf8').replaceAll('\r', '');
  });
  child.stdin?.on('error', () => undefined);
  const terminal: Terminal = {
    type: (text) => void child.stdin?.write(text),
    screen: () => output,
    raw: () => raw,
    until: (pattern) =>
      eventually(`${String(pattern)} on the screen`, async () => {
        const news = output.slice(seen);
        const at = typeof pattern === 'string' ? news.indexOf(pattern) : news.search(pattern);
        if (at < 0) throw new Error(`the screen shows ${JSON.stringify(news.slice(-500))}`);
        const length = typeof pattern === 'string' ? pattern.length : (pattern.exec(news)?.[0].length ?? 0);
        seen += at + length;
        return news.slice(0, at + length);
      }),
    resize: async (columns, rows) => {
      const { code, stderr } = await run('stty', ['-F', name, 'cols', String(columns), 'rows', String(rows)]);
      if (code !== 0) throw new Error(`stty: ${stderr}`);
    },
    close: () => void child.kill('SIGKILL'),
  };
  const name = (await terminal.until(/\/dev\/pts\/\d+/)).trim();
  terminal.type(`berth() { "${process.execPath}" "${launcher}" "$@"; }\n`);
  return terminal;
}
