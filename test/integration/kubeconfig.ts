import type { RunningServer } from './apiserver-harness.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A kubeconfig for the admin of a server, as an object. */
export function kubeconfigOf({ info, admin }: RunningServer) {
  const cluster = { server: `https://${info.kubernetes}`, 'certificate-authority-data': base64(admin.ca as string) };
  const user = { 'client-certificate-data': base64(admin.cert as string), 'client-key-data': base64(admin.key as string) };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'berth', cluster }],
    users: [{ name: 'admin', user }],
    contexts: [{ name: 'berth', context: { cluster: 'berth', user: 'admin' } }],
    'current-context': 'berth',
  };
}
