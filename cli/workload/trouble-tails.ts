import { text } from '../describe/json.ts';
import type { LogTails } from '../describe/log-tails.ts';
import type { Trouble } from './troubles.ts';

/** A trouble with the last lines of one of its pods, where those may say why. */
export interface ExplainedTrouble {
  readonly trouble: Trouble;
  readonly lines: readonly string[];
  /** The source of the lines: "web-1, container c". */
  readonly of: string;
}

/** Of more troubles no logs are read: the first ones tell enough. */
const mostRead = 5;

/** Reads the last lines of one pod of each trouble. Failures are no lines. */
export async function explainTroubles(troubles: readonly Trouble[], logTails: LogTails): Promise<ExplainedTrouble[]> {
  const read = troubles.filter(({ run }) => run !== undefined).slice(0, mostRead);
  return await Promise.all(
    troubles.map(async (trouble) => {
      const { run, pods } = trouble;
      const pod = pods[0] ?? {};
      const key = {
        namespace: text(pod, 'metadata', 'namespace'),
        name: text(pod, 'metadata', 'name'),
        node: text(pod, 'spec', 'nodeName'),
      };
      const lines = run && read.includes(trouble) ? await logTails.read(key, run) : [];
      return { trouble, lines, of: run ? `${key.name}, container ${run.container}` : '' };
    }),
  );
}
