/** The type of a Secret that holds the token of a service account, which an annotation names. */
export const accountTokenType = 'kubernetes.io/service-account-token';
export const accountAnnotation = 'kubernetes.io/service-account.name';
/** Says which account of that name it is. */
export const accountUidAnnotation = 'kubernetes.io/service-account.uid';

/** What stands where in its data. */
export const accountTokenKeys = { token: 'token', authorities: 'ca.crt', namespace: 'namespace' } as const;
