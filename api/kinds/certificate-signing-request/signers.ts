/** Signs certificates with which agents call the API: user system:node:NAME, group system:nodes. */
export const nodeClientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';

/**
 * Signs client certificates of users and programs. An administrator approves each; the system's own names are refused.
 */
export const clientSigner = 'kubernetes.io/kube-apiserver-client';

/** Those that the API server itself signs for. */
export const ownSigners: readonly string[] = [nodeClientSigner, clientSigner];
