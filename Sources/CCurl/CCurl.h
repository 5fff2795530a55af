// SPDX-License-Identifier: Apache-2.0
//
// The one door to libcurl. Its variadic functions, which Swift cannot import and C does not check, become
// `static inline` functions with one type each; everything else is used as libcurl declares it.

#ifndef RECEIPT_GATEWAY_CCURL_H
#define RECEIPT_GATEWAY_CCURL_H

#include <curl/curl.h>

// How the loop waits for libcurl's sockets; Swift's own module of the C library leaves them out.
#include <sys/epoll.h>
#include <sys/eventfd.h>

static inline CURLcode CCurl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode CCurl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

/// libcurl copies strings, except for CURLOPT_POSTFIELDS. NULL unsets.
static inline CURLcode CCurl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode CCurl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

/// libcurl keeps the pointer: the list must outlive the transfer.
static inline CURLcode CCurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

/// CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
static inline CURLcode CCurl_set_receiver(CURL *handle, CURLoption option, curl_write_callback receiver) {
    return curl_easy_setopt(handle, option, receiver);
}

static inline CURLcode CCurl_set_socket_opener(CURL *handle, curl_opensocket_callback opener) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, opener);
}

/// The file with the authorities to trust that libcurl was built with; NULL for none.
static inline const char *CCurl_default_authorities(void) {
    return curl_version_info(CURLVERSION_NOW)->cainfo;
}

/// 0 for what the handle does not know.
static inline long CCurl_get_long(CURL *handle, CURLINFO wanted) {
    long value = 0;
    curl_easy_getinfo(handle, wanted, &value);
    return value;
}

/// 0 for what the handle does not know.
static inline curl_off_t CCurl_get_size(CURL *handle, CURLINFO wanted) {
    curl_off_t value = 0;
    curl_easy_getinfo(handle, wanted, &value);
    return value;
}

/// NULL for what the handle does not know.
static inline void *CCurl_get_pointer(CURL *handle, CURLINFO wanted) {
    char *value = NULL;
    curl_easy_getinfo(handle, wanted, &value);
    return value;
}

static inline CURLMcode CCurl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

static inline CURLMcode CCurl_multi_set_socket_watcher(CURLM *handle, curl_socket_callback watcher, void *context) {
    CURLMcode code = curl_multi_setopt(handle, CURLMOPT_SOCKETFUNCTION, watcher);
    return code ? code : curl_multi_setopt(handle, CURLMOPT_SOCKETDATA, context);
}

static inline CURLMcode CCurl_multi_set_timer(CURLM *handle, curl_multi_timer_callback timer, void *context) {
    CURLMcode code = curl_multi_setopt(handle, CURLMOPT_TIMERFUNCTION, timer);
    return code ? code : curl_multi_setopt(handle, CURLMOPT_TIMERDATA, context);
}

/// Does all work of all transfers that needs no waiting; libcurl then asks again for the sockets to watch. Only the
/// deprecated `curl_multi_socket_all` does both.
static inline CURLMcode CCurl_multi_act_on_all(CURLM *handle) {
    int running = 0;
    CURL_IGNORE_DEPRECATION(return curl_multi_socket_all(handle, &running);)
}

/// What a finished transfer ended with; to be asked of messages of the kind CURLMSG_DONE only.
static inline CURLcode CCurl_message_result(const CURLMsg *message) {
    return message->data.result;
}

#endif
