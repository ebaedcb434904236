import { spawn } from 'node:child_process';
import { ExitWith } from '../program/failure.ts';

/** The person's editor: a program, perhaps with arguments ("code --wait"). */
export function editorCommand(environment: NodeJS.ProcessEnv = process.env): string {
  const names = ['BERTH_EDITOR', 'KUBE_EDITOR', 'VISUAL', 'EDITOR'] as const;
  return names.map((name) => environment[name]?.trim()).find(Boolean) ?? 'vi';
}

/** Opens a file and waits until the person has closed it. */
export async function openEditor(file: string, editor = editorCommand()): Promise<void> {
  const code = await new Promise<number | null>((resolve, reject) => {
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code === 127)
    throw new ExitWith(1, `cannot start the editor "${editor}"; set KUBE_EDITOR or EDITOR to one that is installed`);
  if (code !== 0) throw new ExitWith(1, `the editor "${editor}" ended with ${code ?? 'a signal'}`);
}
