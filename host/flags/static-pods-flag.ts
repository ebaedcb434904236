import { resolve } from 'node:path';

export const staticPodsHelp =
  'a folder of manifests, one pod in each file, that this machine runs without the API; also staticPodPath in node.yaml';

/** An absolute path; empty: none. */
export function parseStaticPodPath(text: string): string {
  return text === '' ? '' : resolve(text);
}
